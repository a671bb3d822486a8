"""The base of values that never change: made by position or by name, compared by their fields."""

from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace


class Value(Struct, frozen=True, gc=False):
    """A value of several fields, none of which is ever set again.

    The collector of garbage does not look at values. They cannot be part of a cycle, and there are
    ten for each payment (decision 68).
    """

    def but(self, **changes: Any) -> Self:
        """The same with other values in these fields."""
        return replace(self, **changes)
