"""What a reading is."""

from msgspec import Struct


class ReadingValue(Struct, frozen=True, gc=False):
    """One way to read a sentence, and what the sandbox then does."""

    name: str
    meaning: str


class Reading(Struct, frozen=True, kw_only=True, gc=False):
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
