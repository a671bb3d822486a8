"""The results of an attempt: the gateway's response, and the event to announce."""

from hashlib import blake2b
from typing import Final

from msgspec import Struct

from sandbox.domain.payments.outcomes import Outcome
from sandbox.domain.payments.transactions import HostAnswer, Transaction
from sandbox.domain.payments.transitions import Transition

_GATEWAY_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_TO_GATEWAY_CHARS: Final = bytes(ord(_GATEWAY_ALPHABET[byte % 36]) for byte in range(256))


class Conclusion(Struct, frozen=True, kw_only=True, gc=False):
    """The result of an attempt: the row, the record to store, and the one to show.

    They differ where a failed attempt is laid over an unchanged record (assumed 2.1-failed).
    `events` are announced in this order, each with the record of its moment.
    """

    taken: Transition
    record: Transaction
    shown: Transaction
    events: tuple[tuple[str, Transaction], ...] = ()


def host_answer(
    outcome: Outcome | None, event_id: str, earlier: HostAnswer | None = None
) -> HostAnswer | None:
    """The gateway's answer; None if no answer came. Source: assumed 5.1.

    It repeats the approval code of an earlier one, which receipts print (assumed D28).
    """
    if outcome is None or outcome.response_code is None:
        return None
    code = (earlier.approval_code if earlier else None) or approval_code(event_id)
    return HostAnswer(
        response_code=outcome.response_code,
        message=outcome.message,
        approval_code=code if outcome.has_approval_code else None,
        host_code=outcome.host_code,
    )


def approval_code(event_id: str) -> str:
    """Six digits that follow from the event_id. Source: assumed 5.1."""
    number = int.from_bytes(blake2b(event_id.encode(), digest_size=8).digest(), "big")
    return f"{number % 1_000_000:06}"


def gateway_id(transaction_id: str) -> str:
    """Ten capitals and digits, the same for the life of a payment. Source: assumed 7.1."""
    digest = blake2b(transaction_id.encode(), digest_size=10).digest()
    return digest.translate(_TO_GATEWAY_CHARS).decode()
