"""The readings of a world: where a sentence of the spec can be read in several ways, one of them.

One row per reading. Its default is what the sandbox does unless the profile or the world says
otherwise. Source: assumed D35.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from sandbox.domain.words import did_you_mean


@dataclass(frozen=True, slots=True)
class ReadingValue:
    """One way to read a sentence, and what the sandbox then does."""

    name: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A sentence that can be read in several ways. The first value is the default."""

    id: str
    sentence: str
    values: tuple[ReadingValue, ...]
    clause: str

    @property
    def default(self) -> str:
        """The value where neither profile nor world names one."""
        return self.values[0].name

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its values, the default first."""
        return tuple(value.name for value in self.values)


STORED_TRANSACTION_TYPE: Final = "stored_transaction_type"
REFUND_BEFORE_SETTLEMENT: Final = "refund_before_settlement"
LIMIT_ABOVE_MAXIMUM: Final = "limit_above_maximum"
KEY_DELETES_ITSELF: Final = "key_deletes_itself"
ALL_GRANTED_BY: Final = "all_granted_by"
KEY_AFTER_A_CHANGE: Final = "key_after_a_change"

READINGS: Final[Mapping[str, Reading]] = {
    reading.id: reading
    for reading in (
        Reading(
            id=STORED_TRANSACTION_TYPE,
            sentence="The transaction_type of a stored transaction.",
            values=(
                ReadingValue("last", "The type of the last operation, such as refund."),
                ReadingValue(
                    "first",
                    "The type with which the payment began. Answers and events of an operation "
                    "still name the operation.",
                ),
            ),
            clause="assumed D35-type",
        ),
        Reading(
            id=REFUND_BEFORE_SETTLEMENT,
            sentence="Funds refunded after settlement.",
            values=(
                ReadingValue("allowed", "A captured payment can be refunded."),
                ReadingValue(
                    "refused",
                    "Only a settled payment can be refunded. Before that, a refund is answered "
                    "with 400 invalid_transaction_state.",
                ),
            ),
            clause="assumed D35-refund",
        ),
        Reading(
            id=LIMIT_ABOVE_MAXIMUM,
            sentence="The limit of a list has a maximum.",
            values=(
                ReadingValue("refused", "A higher limit is answered with 400."),
                ReadingValue("clamped", "A higher limit counts as the maximum."),
            ),
            clause="assumed D35-limit",
        ),
        Reading(
            id=KEY_DELETES_ITSELF,
            sentence="The key of a request should not be the one deleted.",
            values=(
                ReadingValue("allowed", "A key can delete itself."),
                ReadingValue("refused", "A key that deletes itself is refused with 400."),
            ),
            clause="assumed D35-delete",
        ),
        Reading(
            id=ALL_GRANTED_BY,
            sentence="webhooks permissions can be granted only by PSP accounts, and all grants "
            "every permission.",
            values=(
                ReadingValue("every_holder", "Every key that holds all can grant it."),
                ReadingValue(
                    "psp", "Only a PSP account grants all, because it has webhooks permissions."
                ),
            ),
            clause="assumed D35-all",
        ),
        Reading(
            id=KEY_AFTER_A_CHANGE,
            sentence="The plaintext of a retrievable or legacy key is shown on reads.",
            values=(
                ReadingValue("shown", "Answers to PUT and DELETE show it too."),
                ReadingValue("hidden", "Answers to PUT and DELETE have null as key."),
            ),
            clause="assumed D35-plaintext",
        ),
    )
}


class UnknownReading(ValueError):
    """A reading that does not exist, or a value that it does not have; the message helps."""


def checked(wanted: Mapping[str, Any]) -> dict[str, str]:
    """The same choices, every one known and of a value that its reading has."""
    for id, value in wanted.items():
        reading = READINGS.get(id)
        if reading is None:
            raise UnknownReading(f"{id[:80]!r} is not a reading{did_you_mean(id[:80], READINGS)}")
        if value not in reading.names:
            hint = did_you_mean(value[:80], reading.names) if isinstance(value, str) else ""
            raise UnknownReading(f"{id}: must be one of {', '.join(reading.names)}{hint}")
    return dict(wanted)


def in_force(of_profile: Mapping[str, str], own: Mapping[str, str]) -> Mapping[str, str]:
    """Every reading with its value: the world's own, else the profile's, else the default."""
    defaults = {id: reading.default for id, reading in READINGS.items()}
    return MappingProxyType({**defaults, **of_profile, **own})


def default_of(id: str) -> str:
    """The default of a reading; any text for an unknown one, which `checked` refuses."""
    return READINGS[id].default if id in READINGS else ""
