"""The state of a world beside its directory and payments, and the numbers that it counts.

`WorldState` is a record like any other. `Counters` are like the sequences of a database: a number
that was taken is never taken again, even if its unit of work is dropped.
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
"""A number that only grows."""

Seed = Annotated[int, Field(strict=True, ge=-(2**63), le=COUNT_MAX)]
"""The number that ids depend on."""

OF_THE_SERVER: Final = "of the server"
"""The value of `keys` if they depend on a secret of the server."""


MERCHANTS_MAX: Final = 10_000
PER_MERCHANT_MAX: Final = 1_000
RECORDS_MAX: Final = 50_000
"""The most terminals, and the most locations, in all. To generate them takes seconds and a sixth of
a gigabyte; meanwhile all worlds of the server run at half speed."""

MerchantCount = Annotated[int, Field(strict=True, ge=0, le=MERCHANTS_MAX)]
PerMerchantCount = Annotated[int, Field(strict=True, ge=0, le=PER_MERCHANT_MAX)]


class GeneratedData(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """How much data to generate."""

    merchants: MerchantCount
    terminals_per_merchant: PerMerchantCount = 1
    locations_per_merchant: PerMerchantCount = 1

    def check(self) -> "GeneratedData":
        """Itself. Raises ValueError if the total is too large."""
        each = max(self.terminals_per_merchant, self.locations_per_merchant)
        if self.merchants * each > RECORDS_MAX:
            raise ValueError(f"at most {RECORDS_MAX} terminals or locations in all")
        return self


def _standing(clock: ClockState) -> ClockState:
    if clock.mode == "frozen" and clock.now is None:
        raise ValueError("now: is missing")
    return clock


AS_IT_IS: Final = ClockSetting()
"""Sets nothing."""


class Beginning(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """How a world began: a reset returns it to this. `fixture` is a name."""

    fixture: str
    name: WorldName = ""
    seed: Seed = 1
    keys: Annotated[str, one_of(repr(OF_THE_SERVER), ("", OF_THE_SERVER))] = ""
    clock: ClockSetting = AS_IT_IS
    generated_data: Annotated[GeneratedData, AfterValidator(GeneratedData.check)] | None = None


class WorldState(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """The one record of the world itself.

    `queue` are the next outcomes, `webhook_faults` the faults of the next deliveries.
    `terminal_outcomes` are the fixed outcomes of test terminals, by terminal id. `scenario` is the
    document of the scenario that is running, since that moment. In a maintenance every request is
    refused.
    `readings` are those that the world chose itself; the profile decides the others.
    """

    id: str
    begins: Beginning
    clock: Annotated[ClockState, AfterValidator(_standing)]
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
    """How many bytes were drawn for ids, how many requests came, how often rules applied.

    `rules` has for each rule of the scenario how many attempts or deliveries fitted, and to how
    many of them it applied.
    """

    drawn: Counted = 0
    requests: Counted = 0
    rules: list[list[Counted]] = field(default_factory=list)
