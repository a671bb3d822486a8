"""The settlement batch: its record, its life, its sums, its schedule, and the processor's results.

Source: spec 2.5, 3.3; rules assumed B1 to B16, transitions assumed 3.2. Zones of schedules are
those of the IANA database: the machine's own, else that of the package tzdata, which comes with
faker on Windows.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta
from typing import Annotated, Any, Final, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from msgspec import Struct, field
from msgspec.structs import replace
from pydantic import Field

from sandbox.domain.field_types import ProcessorBatchId, Uuid
from sandbox.domain.instants import Instant
from sandbox.domain.payments.outcomes import SETTLEMENTS
from sandbox.domain.payments.transactions import Payment
from sandbox.domain.states import Machine, Step
from sandbox.domain.text import UnknownWord

BatchStatus = Literal["open", "submitted", "rejected", "accepted", "partially_accepted"]
"""Source: spec 3.3."""

BATCH_STATUSES: Final[tuple[BatchStatus, ...]] = BatchStatus.__args__  # type: ignore[attr-defined]

FROZEN: Final = frozenset({"submitted", "accepted", "partially_accepted"})
"""States in which sums and members no longer change. Source: assumed D10."""

NUMBER_MAX: Final = 999
"""Batch numbers run from 001 to 999 and start over. Source: assumed B5."""


class Batch(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A batch as stored and as shown: the fields of spec 2.5, in its order.

    Amounts are minor units; `transaction_count` counts capture and refund entries (assumed M10).
    """

    id: Uuid
    account_id: Uuid
    terminal_id: Uuid
    processor_name: str
    processor_config_id: str | None
    status: BatchStatus = "open"
    captured_amount: int = 0
    refunded_amount: int = 0
    transaction_count: int = 0
    processor_batch_id: ProcessorBatchId | None
    opened_at: Instant
    closed_at: Instant | None = None
    response: dict[str, Any] | None = None
    batch_metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def deleted_at(self) -> None:
        """Batches are never deleted."""
        return None


BATCH_LIFE: Final = Machine(
    "batch",
    (
        Step("-", "open", "open", "batch.opened", "assumed 3.2"),
        Step("open", "edit", "open", "batch.edited", "assumed B7"),
        Step("open", "close", "submitted", "batch.submitted", "assumed B8"),
        Step("submitted", "accept", "accepted", "batch.accepted", "assumed B10"),
        Step("submitted", "reject", "rejected", "batch.rejected", "assumed B11"),
        Step(
            "submitted",
            "accept in part",
            "partially_accepted",
            "batch.partially_accepted",
            "assumed B12",
        ),
        Step("rejected", "edit", "open", "batch.edited", "assumed B7"),
        Step("rejected", "close", "submitted", "batch.submitted", "assumed B8"),
    ),
)

TRIGGER_OF_ANSWER: Final = {
    step.target: step.trigger for step in BATCH_LIFE.steps if step.state == "submitted"
}

REASONS: Final = {
    "duplicate_batch": "QD - DUPLICATE BATCH",
    "bad_record_count": "RB T08 - INVALID BATCH TRANSMISSION RECORD COUNT",
    "hash_mismatch": "RB T09 - BATCH AMOUNT HASHING TOTAL MISMATCH",
    "net_deposit": "RB T11 - INVALID BATCH NET DEPOSIT",
    "bad_merchant": "RB K09 - MERCHANT NUMBER INCORRECT",
    "bad_terminal": "RB K11 - TERMINAL NUMBER INCORRECT",
    "bad_mcc": "RB 309 - MERCHANT CATEGORY CODE NOT IN TABLE",
    "bad_card_range": "RB G07 - ACCOUNT NUMBER NOT IN ACCEPTABLE RANGE",
    "comms": "RB KP@@ - COMMUNICATIONS ERROR",
}
"""Why a processor rejects a batch. Source: assumed 3.3."""

DEFAULT_REASON: Final = "hash_mismatch"


NUMBER_RESTS: Final = timedelta(days=5)
"""How long a batch number is taken after it settled. Source: assumed 3.3-repeated."""

RECENT_MAX: Final = 1_000
"""How many batches of a terminal to compare with: one more than there are numbers."""


def next_number(recent: Iterable[Batch], now: datetime) -> str:
    """Return the number after the terminal's last one; 999 is followed by 001.

    Names with letters are passed over, and so is a number whose batch is not settled, or was
    settled a few days ago. `recent` are the batches of the terminal, the newest first. Source:
    assumed B5, 3.3-repeated.
    """
    named = [(batch.processor_batch_id or "", is_number_taken(batch, now)) for batch in recent]
    last = next((int(name) for name, _ in named if name.isascii() and name.isdecimal()), 0)
    taken = {name for name, is_taken in named if is_taken}
    numbers = [f"{(last + step) % NUMBER_MAX + 1:03}" for step in range(NUMBER_MAX)]
    return next((number for number in numbers if number not in taken), numbers[0])


def is_number_taken(batch: Batch, now: datetime) -> bool:
    """Whether the number of the batch is taken: it is not settled, or was a few days ago."""
    return batch.closed_at is None or now - batch.closed_at < NUMBER_RESTS


# --- sums -------------------------------------------------------------------------------------


Entries = tuple[int, int, int]
"""What a payment adds to a batch: captured, refunded, and the number of its entries."""

NO_ENTRIES: Final = (0, 0, 0)


def entries_of(payment: Payment) -> dict[str, Entries]:
    """Return the entries of a payment, by the id of their batch.

    A captured payment counts its captured amount less reversals. Refunds do not reduce it: each is
    an entry of its own. Source: assumed M10, B3.
    """
    found: dict[str, Entries] = {}
    tx = payment.transaction
    if tx.batch_id is not None:
        found[tx.batch_id] = payment.ledger.kept, 0, 1
    for one in tx.history:
        if one.transaction_type == "refund" and one.batch_id is not None:
            captured, refunded, entries = found.get(one.batch_id, NO_ENTRIES)
            found[one.batch_id] = captured, refunded + one.amount, entries + 1
    return found


def counting(batch: Batch, was: Entries, now: Entries) -> Batch:
    """Return the batch after the entries of a payment changed. Source: assumed B2 to B4."""
    return replace(
        batch,
        captured_amount=batch.captured_amount + now[0] - was[0],
        refunded_amount=batch.refunded_amount + now[1] - was[1],
        transaction_count=batch.transaction_count + now[2] - was[2],
    )


# --- results ----------------------------------------------------------------------------------


class Result(Struct, frozen=True, kw_only=True, gc=False):
    """The processor's result for a submitted batch.

    `rejected` are ids of payments whose capture entries it refuses, in a partial acceptance.
    """

    answer: Literal["accepted", "rejected", "partially_accepted"]
    reason: str | None = None
    rejected: tuple[str, ...] = ()


ACCEPTED: Final = Result(answer="accepted")


def result_of(members: Iterable[Payment]) -> Result | None:
    """Return the result of a batch by its members' amounts, or None if the processor gives none.

    A member that withholds the result wins, then the first one that rejects the whole batch.
    Otherwise single records are rejected (assumed 6.2-settlement).
    """
    rows = [(one.id, SETTLEMENTS[one.settlement]) for one in members if one.settlement]
    if any(row.answer == "none" for _, row in rows):
        return None
    for _, row in rows:
        if row.answer == "rejected":
            return Result(answer="rejected", reason=row.reason)
    refused = tuple(id for id, _ in rows)
    return Result(answer="partially_accepted", rejected=refused) if refused else ACCEPTED


DayCode = Literal["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]
DAYS: Final[tuple[DayCode, ...]] = DayCode.__args__  # type: ignore[attr-defined]
"""The codes of days, in the order of `datetime.weekday`."""

TIMES_MAX: Final = 24
ZONE_CHARS_MAX: Final = 64
TimeOfDay = Annotated[str, Field(pattern="^([01][0-9]|2[0-3]):[0-5][0-9]$")]

_DAYS_AHEAD: Final = 9
"""Every day of the week occurs within these days, even if a zone skips a date."""


class BatchSchedule(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """The local times of 24 hours, HH:MM, the days and the zone of one terminal.

    Build it with `batch_schedule`, which checks it.
    """

    times: Annotated[tuple[TimeOfDay, ...], Field(min_length=1)]
    days: tuple[DayCode, ...]
    zone: str

    def next_after(self, moment: datetime) -> datetime:
        """Return the first moment after this one at which a batch closes.

        A time that daylight saving skips moves by as much as the clock jumps: 02:30 becomes 03:30.
        A time that occurs twice counts only the first time.
        """
        zone = ZoneInfo(self.zone)
        today = moment.astimezone(zone).date()
        dates = (today + timedelta(days=ahead) for ahead in range(-1, _DAYS_AHEAD))
        due = (
            datetime.combine(date, time.fromisoformat(one), zone).astimezone(UTC)
            for date in dates
            if DAYS[date.weekday()] in self.days
            for one in self.times
        )
        return min(one for one in due if one > moment)


def batch_schedule(
    times: tuple[str, ...], days: tuple[DayCode, ...] | None, zone: str
) -> BatchSchedule:
    """Return the schedule, sorted and without repetitions. None for the days means every day.

    Raises UnknownWord for a zone that does not exist, with the nearest one.
    """
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        zones = available_timezones()
        about = f"zone: there is no time zone {zone[:80]!r}"
        if not zones:
            about += "; this machine has none at all, and the package tzdata has them"
        raise UnknownWord(about, zone, zones) from None
    return BatchSchedule(
        times=tuple(sorted(set(times))),
        days=tuple(day for day in DAYS if day in (days or DAYS)),
        zone=zone,
    )
