"""The state of a world besides its directory and payments, and its counters.

`WorldState` is a record like any other. `Counters` are like sequences of a database: a number is
never used twice, even if a unit of work is dropped.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from msgspec import Struct, field
from pydantic import AfterValidator, Field

from sandbox.domain import readings as readings_table
from sandbox.domain.clock import ClockSetting, ClockState
from sandbox.domain.field_types import WorldName
from sandbox.domain.instants import Instant
from sandbox.domain.payments.outcomes import OutcomeName, Queued
from sandbox.domain.switches import checked
from sandbox.domain.text import one_of
from sandbox.domain.webhooks import WebhookFault

COUNT_MAX: Final = 2**63 - 1

Counted = Annotated[int, Field(strict=True, ge=0, le=COUNT_MAX)]
"""The value of a counter."""

Seed = Annotated[int, Field(strict=True, ge=-(2**63), le=COUNT_MAX)]
"""The number on which ids depend."""

OF_THE_SERVER: Final = "of the server"
"""The value of `keys` if keys depend on a secret of the server."""


MERCHANTS_MAX: Final = 10_000
PER_MERCHANT_MAX: Final = 1_000
RECORDS_MAX: Final = 50_000
"""Limit of all terminals, and of all locations. To generate them takes seconds and a sixth of a
gigabyte, and slows down the other worlds of the server by half."""

MerchantCount = Annotated[int, Field(strict=True, ge=0, le=MERCHANTS_MAX)]
PerMerchantCount = Annotated[int, Field(strict=True, ge=0, le=PER_MERCHANT_MAX)]


class GeneratedData(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """How much data to generate."""

    merchants: MerchantCount
    terminals_per_merchant: PerMerchantCount = 1
    locations_per_merchant: PerMerchantCount = 1

    def check(self) -> "GeneratedData":
        """Return itself. Raises ValueError if the total is too large."""
        each = max(self.terminals_per_merchant, self.locations_per_merchant)
        if self.merchants * each > RECORDS_MAX:
            raise ValueError(f"at most {RECORDS_MAX} terminals or locations in all")
        return self


def _with_instant(clock: ClockState) -> ClockState:
    if clock.mode == "frozen" and clock.now is None:
        raise ValueError("now: is missing")
    return clock


AS_IT_IS: Final = ClockSetting()
"""A setting that changes nothing."""


DEFAULT_SEED: Final = 1
"""The seed of a world for which none is chosen; documents omit it."""


class Beginning(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """How a world began, to which a reset returns it.

    `fixture` is a name. The ids of the cast follow from `cast_seed` if the world began like a saved
    one, and otherwise from `seed`. Key material follows from `key_seed` if the world was loaded and
    kept the keys of another seed.
    """

    fixture: str
    name: WorldName = ""
    seed: Seed = DEFAULT_SEED
    cast_seed: Seed | None = None
    key_seed: Seed | None = None
    keys: Annotated[str, one_of(repr(OF_THE_SERVER), ("", OF_THE_SERVER))] = ""
    clock: ClockSetting = AS_IT_IS
    generated_data: Annotated[GeneratedData, AfterValidator(GeneratedData.check)] | None = None


class WorldState(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """The one record of the world itself.

    `queue` has the next outcomes, and `webhook_faults` the faults of the next deliveries.
    `terminal_outcomes` are the fixed outcomes of test terminals, by terminal id. `scenario` is the
    document of the scenario that has been running since `scenario_since`. Until
    `maintenance_until`, every request is refused. `readings` are the ones that were chosen in the
    world; the profile decides the others.
    """

    id: str
    begins: Beginning
    clock: Annotated[ClockState, AfterValidator(_with_instant)]
    switches: Annotated[Mapping[str, Any], AfterValidator(checked)] = field(default_factory=dict)
    queue: tuple[Queued, ...] = ()
    webhook_faults: tuple[WebhookFault, ...] = ()
    terminal_outcomes: Mapping[str, OutcomeName] = field(default_factory=dict)
    scenario: Mapping[str, Any] | None = None
    scenario_since: Instant | None = None
    maintenance_until: Instant | None = None
    readings: Annotated[Mapping[str, str], AfterValidator(readings_table.checked)] = field(
        default_factory=dict
    )


class Counters(Struct):
    """The numbers of bytes drawn for ids, of requests, and of uses of the scenario's rules.

    `rules` has for each rule the number of attempts or deliveries that matched, and the number of
    those to which it applied.
    """

    drawn: Counted = 0
    requests: Counted = 0
    rules: list[list[Counted]] = field(default_factory=list)
