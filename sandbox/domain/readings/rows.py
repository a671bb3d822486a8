"""What a reading is."""

from dataclasses import dataclass


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
