"""Transport faults: what goes wrong between client and platform, not in a payment.

Source: assumed 5.3.
"""

from typing import Final, Literal

from msgspec import Struct

from sandbox.domain.faults import (
    BAD_GATEWAY,
    GATEWAY_TIMEOUT,
    RATE_LIMITED,
    SERVER_FAILED,
    UNAVAILABLE,
    Fault,
)

When = Literal["before", "after"]

SLOW_MS: Final = 3_000
"""The default delay of `slow`."""


class TransportFault(Struct, frozen=True, gc=False):
    """One fault. `before` the engine runs nothing is recorded; `after` it, everything is.

    `answer` is the refusal that is answered instead; None where the answer itself is spoiled.
    """

    key: str
    when: When
    effect: str
    answer: Fault | None = None


TRANSPORT_FAULTS: Final[dict[str, TransportFault]] = {
    fault.key: fault
    for fault in (
        TransportFault("http_500", "before", "500 internal_error", SERVER_FAILED),
        TransportFault("http_502", "before", "502 bad_gateway", BAD_GATEWAY),
        TransportFault("http_503", "before", "503 unavailable", UNAVAILABLE),
        TransportFault("http_504", "before", "504 gateway_timeout", GATEWAY_TIMEOUT),
        TransportFault("http_429", "before", "429 rate_limited, Retry-After: 1", RATE_LIMITED),
        TransportFault("drop_before", "before", "connection closed, nothing done"),
        TransportFault("drop_after", "after", "done and committed, then connection closed"),
        TransportFault("slow", "after", "a normal answer, late"),
        TransportFault("malformed_json", "after", "done and committed; the body is cut off"),
    )
}
