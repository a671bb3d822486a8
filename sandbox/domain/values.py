"""The base of values that never change: made by position or by name, compared by their fields."""

from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace


class Value(Struct, frozen=True, gc=False, omit_defaults=True):
    """A value of several fields, none of which is ever set again.

    Its document leaves out fields that have their default.

    The collector of garbage does not look at values, of which a payment has ten (decision 68). A
    kind that may hold what refers back to it says `gc=True`.
    """

    def but(self, **changes: Any) -> Self:
        """The same with other values in these fields."""
        return replace(self, **changes)
