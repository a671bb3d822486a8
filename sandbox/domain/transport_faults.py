"""Transport faults: what goes wrong between client and platform, for any request.

Source: assumed 5.3.
"""

from typing import Annotated, Final, Literal

from msgspec import Struct

from sandbox.domain import faults
from sandbox.domain.faults import Fault
from sandbox.domain.text import one_of

When = Literal["before", "after"]

SLOW_MS: Final = 3_000
"""The default delay of `slow`."""


class TransportFault(Struct, frozen=True, gc=False):
    """One fault. `before` the work nothing is recorded; `after` it, everything is.

    `answer` is the refusal that the client gets instead, or None. A fault that `needs_body` cannot
    happen to an answer without a body. `cents` are those of the amount from $9,003.00 on that
    chooses it.
    """

    key: str
    when: When
    effect: str
    answer: Fault | None = None
    cents: int | None = None
    needs_body: bool = False


TRANSPORT_FAULTS: Final[dict[str, TransportFault]] = {
    fault.key: fault
    for fault in (
        TransportFault("http_500", "before", "500 internal_error", faults.SERVER_FAILED, 0),
        TransportFault("http_502", "before", "502 bad_gateway", faults.BAD_GATEWAY, 2),
        TransportFault("http_503", "before", "503 unavailable", faults.UNAVAILABLE, 3),
        TransportFault("http_504", "before", "504 gateway_timeout", faults.GATEWAY_TIMEOUT, 4),
        TransportFault(
            "http_429", "before", "429 rate_limited, Retry-After: 1", faults.RATE_LIMITED, 29
        ),
        TransportFault("drop_before", "before", "connection closed, nothing done", cents=8),
        TransportFault(
            "drop_after", "after", "done and committed, then connection closed", cents=9
        ),
        TransportFault(
            "http_504_after", "after", "done and committed; answered 504", faults.GATEWAY_TIMEOUT
        ),
        TransportFault("slow", "after", "a normal answer, late"),
        TransportFault(
            "malformed_json", "after", "done and committed; the body is cut off", needs_body=True
        ),
        TransportFault(
            "half_answer",
            "after",
            "done and committed; the connection closes in the middle of the answer",
            needs_body=True,
        ),
    )
}


SLOW: Final = TRANSPORT_FAULTS["slow"]

LOST: Final = ("drop_before", "drop_after", "half_answer")
"""Faults that close the connection, so that no whole answer arrives."""

NEED_BODY: Final = frozenset(key for key, one in TRANSPORT_FAULTS.items() if one.needs_body)
"""Faults that cannot happen to an answer without a body."""


FaultName = Annotated[str, one_of("a known transport fault", TRANSPORT_FAULTS)]
"""The key of a transport fault."""
