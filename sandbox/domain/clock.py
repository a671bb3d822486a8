"""The clock of a world as values, and the timers that are due on it.

A clock is frozen at an instant, or runs at an offset and a rate. Everything in a world reads this
one clock (assumed 8.2). Only the signatures of webhooks use the system clock (assumed D1), which is
passed in as an argument: seconds since 1970-01-01T00:00:00Z.
"""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, Literal

from msgspec import Struct
from pydantic import AfterValidator

from sandbox.domain.instants import Instant, from_ms, to_millisecond
from sandbox.domain.text import KnownWord

Mode = Literal["running", "frozen"]

EARLIEST: Final = datetime(1970, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(9000, 1, 1, tzinfo=UTC)
"""Limits of a world's time, so that dates that follow from it can still be written."""

RATE_MAX: Final = 86_400.0
"""One day per second."""


def check_time(now: datetime) -> datetime:
    """Return the time itself. Raises ValueError unless a world's clock can show it."""
    if not EARLIEST <= now <= LATEST:
        raise ValueError(f"must be between the years {EARLIEST.year} and {LATEST.year}")
    return now


def _passing(rate: float) -> float:
    if not 0 < rate <= RATE_MAX:
        raise ValueError(f"must be more than 0 and at most {RATE_MAX:g}")
    return float(rate)


WorldTime = Annotated[Instant, AfterValidator(check_time)]
"""A moment of a world's clock."""

ClockRate = Annotated[float, AfterValidator(_passing)]
"""The number of seconds that pass in the world per real second."""


class ClockSetting(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """New settings of a clock; None leaves a value unchanged."""

    now: WorldTime | None = None
    mode: Mode | None = None
    rate: ClockRate | None = None


class ClockState(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A clock at rest. It showed `now` at `system_s`, the system time in Unix seconds.

    Without `now` it is the system clock itself, without drift or rounding, for a running clock that
    was never set.
    """

    mode: Mode
    rate: ClockRate = 1.0
    now: WorldTime | None = None
    system_s: float | None = None

    def time_at(self, system_s: float) -> datetime:
        """Return the world's time at that system time, to the millisecond."""
        if self.now is None:
            return from_ms(int(system_s * 1000))
        if self.mode == "frozen":
            return self.now
        elapsed_s = (system_s - (self.system_s or 0.0)) * self.rate
        try:
            return min(to_millisecond(self.now + timedelta(seconds=elapsed_s)), LATEST)
        except OverflowError:
            return LATEST

    def after(self, setting: ClockSetting, system_s: float) -> "ClockState":
        """Return the clock with these settings. Setting it back is allowed (assumed D21)."""
        mode = setting.mode or self.mode
        rate = self.rate if setting.rate is None else setting.rate
        follows_system = self.now is None and setting.now is None
        if follows_system and rate == 1.0 and mode == "running":
            return RUNNING
        now = self.time_at(system_s) if setting.now is None else to_millisecond(setting.now)
        return ClockState(
            mode=mode, rate=rate, now=now, system_s=system_s if mode == "running" else None
        )


RUNNING: Final = ClockState(mode="running")
"""The system clock."""


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
ABOUT_KEY: Final = (REVOKE_KEY, REINSTATE_KEY)
ABOUT_TERMINAL: Final = (BLOCK_TERMINAL, UNBLOCK_TERMINAL)

TIMER_KINDS: Final = frozenset(
    kind for name, kind in list(globals().items()) if name.isupper() and isinstance(kind, str)
)
"""Every kind above."""


class Timer(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Something that is due at an instant of its world's clock.

    `subject` is the id of its record, which has at most one timer of a kind, or one for each
    `tag`. `detail` holds more values for the handler.
    """

    kind: Annotated[str, KnownWord(sorted(TIMER_KINDS))]
    subject: str
    due: Instant
    tag: str = ""
    detail: str = ""

    @property
    def id(self) -> str:
        """The id of its document."""
        return timer_id(self.kind, self.subject, self.tag)


def timer_id(kind: str, subject: str, tag: str) -> str:
    """Return the id of the document of a timer."""
    return "/".join(part for part in (kind, subject, tag) if part)
