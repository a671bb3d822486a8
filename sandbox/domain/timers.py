"""Timers: future events of a world that need no request."""

from typing import Final

from msgspec import Struct

from sandbox.domain.instants import Instant

AUTHORIZATION_EXPIRES: Final = "authorization_expires"
SURCHARGE_EXPIRES: Final = "surcharge_expires"
TAP_EXPIRES: Final = "tap_expires"
HOLD_REVERSED: Final = "hold_reversed"
BATCH_RESULT: Final = "batch_result"
BATCH_CLOSES: Final = "batch_closes"
KEY_EXPIRES: Final = "key_expires"
WEBHOOK_RETRY: Final = "webhook_retry"

# Follow-ups of a scenario (assumed D24); the prompt of a surcharge is one of those above.
LATE_ANSWER: Final = "late_answer"
CANCEL: Final = "cancel"
REVOKE_KEY: Final = "revoke_key"
REINSTATE_KEY: Final = "reinstate_key"
BLOCK_TERMINAL: Final = "block_terminal"
UNBLOCK_TERMINAL: Final = "unblock_terminal"

TIMER_KINDS: Final = frozenset(
    {
        AUTHORIZATION_EXPIRES,
        SURCHARGE_EXPIRES,
        TAP_EXPIRES,
        HOLD_REVERSED,
        BATCH_RESULT,
        BATCH_CLOSES,
        KEY_EXPIRES,
        WEBHOOK_RETRY,
        LATE_ANSWER,
        CANCEL,
        REVOKE_KEY,
        REINSTATE_KEY,
        BLOCK_TERMINAL,
        UNBLOCK_TERMINAL,
    }
)


class Timer(Struct, frozen=True, kw_only=True, gc=False):
    """One event that is due at an instant of its world's clock.

    `subject` is the id of its record, which has one timer of a kind at a time, or one for each
    `tag`. `detail` holds further values that the handler needs.
    """

    kind: str
    subject: str
    due: Instant
    tag: str = ""
    detail: str = ""

    @property
    def id(self) -> str:
        """The id of its document."""
        return timer_id(self.kind, self.subject, self.tag)


def timer_id(kind: str, subject: str, tag: str) -> str:
    """The id of the document of a timer."""
    return "/".join(part for part in (kind, subject, tag) if part)
