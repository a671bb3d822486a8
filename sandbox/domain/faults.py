"""The catalogue of refusals: every status that is not a success comes from a row here.

`error` is what clients branch on (spec 7-body). Only validation_error is named by the spec; the
other codes are assumed 0.5-codes. A refusal carries two texts: `details` for the client, which
reveals nothing that is hidden, and `reason` for the operator's journal, which may reveal it.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Final, TypedDict

from msgspec import Struct


class Fault(Struct, frozen=True, gc=False):
    """One way of refusing: the code, the status, a sentence that is always true, and the clause."""

    code: str
    status: int
    message: str
    source: str


VALIDATION_ERROR: Final = Fault("validation_error", 400, "The request is not valid.", "spec 7-400")
UNPROCESSABLE: Final = Fault(
    "validation_error", 422, "The request is malformed.", "assumed D35-validation"
)
AUTHENTICATION_FAILED: Final = Fault(
    "authentication_failed", 401, "The API key is missing or cannot be used.", "spec 7-401"
)
PERMISSION_DENIED: Final = Fault(
    "permission_denied", 401, "The API key lacks the permission for this operation.", "spec 5.9"
)
FORBIDDEN: Final = Fault(
    "forbidden", 403, "A requested permission cannot be granted by this API key.", "spec 7-403"
)
NO_CREATOR: Final = Fault(
    "forbidden", 403, "Accounts of this type cannot create it.", "assumed 1.3-kinds"
)
NOT_FOUND: Final = Fault("not_found", 404, "The resource was not found.", "spec 7-404")
METHOD_NOT_ALLOWED: Final = Fault(
    "method_not_allowed", 405, "The method is not served on this path.", "assumed C9"
)
RETIRED: Final = Fault(
    "method_not_allowed", 405, "This operation is retired.", "spec 4.3-search-retired"
)
NOT_ACCEPTABLE: Final = Fault(
    "not_acceptable",
    406,
    "The answer is application/json, which the Accept header excludes.",
    "assumed C7",
)
CONFLICT: Final = Fault(
    "conflict", 409, "The request conflicts with the state of the resource.", "assumed 0.5-codes"
)
BODY_TOO_LARGE: Final = Fault(
    "body_too_large", 413, "The body is larger than the platform takes.", "assumed D46"
)
UNSUPPORTED_MEDIA_TYPE: Final = Fault(
    "unsupported_media_type", 415, "A body must be sent as application/json.", "assumed C7"
)


def _rule_of_payments(code: str, message: str, source: str) -> Fault:
    return Fault(code, 400, message, source)


DUPLICATE_EVENT: Final = _rule_of_payments(
    "duplicate_event", "The event_id was used before.", "assumed F38"
)
INVALID_TRANSACTION_STATE: Final = _rule_of_payments(
    "invalid_transaction_state",
    "The transaction is in a state that does not allow this.",
    "assumed D18",
)
INVALID_CAPTURE_SEQUENCE: Final = _rule_of_payments(
    "invalid_capture_sequence",
    "Only an authorized transaction can be captured, once.",
    "spec 2.4-invalid_capture_sequence",
)
EXCEEDS_ORIGINAL_AUTH: Final = _rule_of_payments(
    "exceeds_original_auth",
    "The amount exceeds the original authorization.",
    "spec 2.4-exceeds_original_auth",
)
INVALID_TIP_ADJUSTMENT: Final = _rule_of_payments(
    "invalid_tip_adjustment",
    "The tip of this transaction cannot be adjusted.",
    "spec 2.4-invalid_tip_adjustment",
)
REVERSE_EXCEEDS_AVAILABLE: Final = _rule_of_payments(
    "reverse_exceeds_available", "There is less than that to reverse.", "assumed D18"
)
REFUND_EXCEEDS_CAPTURED: Final = _rule_of_payments(
    "refund_exceeds_captured", "There is less than that to refund.", "assumed D18"
)
MISDIRECTED: Final = Fault(
    "misdirected_request", 421, "The server does not answer for this host.", "assumed D25-hosts"
)
ACCOUNT_BLOCKED: Final = Fault(
    "account_blocked", 423, "The account is blocked.", "assumed 4.7-blocked-account"
)
BLOCK_FAULTS: Final = {
    "locked": ACCOUNT_BLOCKED,
    "invalid_terminal": ACCOUNT_BLOCKED,
    **{
        word: Fault("account_blocked", status, ACCOUNT_BLOCKED.message, "assumed D35-block-answer")
        for word, status in (("forbidden", 403), ("unauthorized", 401), ("bad_request", 400))
    },
}
"""The refusal of a blocked request, by the value of the reading block_answer."""

INTERNAL_ERROR: Final = Fault(
    "internal_error",
    500,
    "The sandbox failed. This is a defect of the sandbox, not of the request.",
    "assumed 0.5-codes",
)
NOT_WRITTEN: Final = Fault("internal_error", 500, "The state could not be written.", "assumed D25")
NOT_READ: Final = Fault("internal_error", 500, "A part of the state cannot be read.", "assumed D25")


def _transport(code: str, status: int, message: str) -> Fault:
    return Fault(code, status, message, "assumed 5.3")


RATE_LIMITED: Final = _transport("rate_limited", 429, "Too many requests.")
SERVER_FAILED: Final = _transport("internal_error", 500, "The platform failed.")
BAD_GATEWAY: Final = _transport("bad_gateway", 502, "A gateway got no usable answer.")
UNAVAILABLE: Final = _transport("unavailable", 503, "The platform is unavailable.")
GATEWAY_TIMEOUT: Final = _transport("gateway_timeout", 504, "A gateway got no answer in time.")

FAULTS: Final[tuple[Fault, ...]] = tuple(
    fault for fault in list(globals().values()) if isinstance(fault, Fault)
)
"""Every fault, in the order above; those of readings are not among them."""


class Mistake(TypedDict):
    """One mistake of a malformed request, as web frameworks list it."""

    type: str
    loc: list[str | int]
    msg: str


@dataclass(eq=False, repr=False)
class Refusal(Exception):
    """A request that is refused, at one step, for one reason.

    If it is raised, nothing has changed. If an operation returns it, the commit happens first: a
    failed attempt is stored and announced (assumed 2.1-rule), and `is_recorded` is set.

    `details` goes to the client; `reason`, `source` and `step` go to the journal. They default to
    the details, the fault's own clause and the current step. `mistakes` are those of a malformed
    request, if a reading lists them.
    """

    fault: Fault
    details: str = ""
    _: KW_ONLY
    reason: str = ""
    source: str = ""
    step: str = ""
    mistakes: Sequence[Mistake] = ()
    is_recorded: bool = False

    def __post_init__(self) -> None:
        self.reason = self.reason or self.details or self.fault.message
        self.source = self.source or self.fault.source
        super().__init__(self.reason)
