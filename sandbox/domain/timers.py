"""What will happen later in a world, without a request: one timer each."""

from dataclasses import dataclass
from typing import Final

from sandbox.domain.instants import Instant

AUTHORIZATION_EXPIRES: Final = "authorization_expires"
SURCHARGE_EXPIRES: Final = "surcharge_expires"
BATCH_RESULT: Final = "batch_result"
WEBHOOK_RETRY: Final = "webhook_retry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timer:
    """One thing that falls due at an instant of its world's clock.

    `subject` is the id of the record that it is about; it has one timer of a kind at a time.
    """

    kind: str
    subject: str
    due: Instant
