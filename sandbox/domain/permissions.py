"""The permissions of spec 2.2, their two macros, and the grants of a set of permissions.

This file defines which strings are permissions. `access` decides what they allow, and which of them
a caller may grant to another key.
"""

from functools import lru_cache
from typing import Final

from msgspec import Struct

_READ_AND_CHANGE: Final = ("read", "create", "edit", "delete")

ACTIONS: Final[dict[str, tuple[str, ...]]] = {
    "payments": (
        "tap-ios",
        "tap-android",
        "read",
        "refund",
        "tipadjust",
        "capture",
        "incremental-auth",
        "void",
        "confirm",
    ),
    "batches": ("read", "open", "edit", "close"),
    "terminals": _READ_AND_CHANGE,
    "locations": _READ_AND_CHANGE,
    "accounts": ("read", "create:partner", "create:merchant", "edit", "delete"),
    "credentials": _READ_AND_CHANGE,
    "apikeys": (*_READ_AND_CHANGE, *(f"{action}:sub" for action in _READ_AND_CHANGE)),
    "webhooks": _READ_AND_CHANGE,
}
"""Resource type to its actions, a subtype written as `action:subtype`. Source: spec 2.2."""

CONCRETE: Final[tuple[str, ...]] = tuple(
    f"{resource}:{action}" for resource, actions in ACTIONS.items() for action in actions
)
"""Every permission that is not a macro, in the order of the spec's table."""

PAYMENT_WRITES: Final = tuple(f"payments:{one}" for one in ACTIONS["payments"] if one != "read")
"""The permissions to write payments: to take one or to change one. Source: assumed D37."""

ALL: Final = "all"
LEGACY_ALL: Final = "legacy_all"
MACROS: Final = frozenset({ALL, LEGACY_ALL})
"""Both expand to all concrete permissions; only `all` can be requested. Source: spec 2.2-macros."""

PERMISSIONS: Final = frozenset(CONCRETE) | MACROS


class Grants(Struct, frozen=True, gc=False):
    """The grants of a key: its permissions with the macros expanded, and their resource types."""

    concrete: frozenset[str]
    types: frozenset[str]

    def __contains__(self, permission: str) -> bool:
        """Whether this exact permission is held. None implies another. Source: spec 5.6."""
        return permission in self.concrete


def expand(permissions: tuple[str, ...]) -> frozenset[str]:
    """Return the concrete permissions, with macros expanded."""
    if MACROS.isdisjoint(permissions):
        return frozenset(permissions)
    return frozenset(CONCRETE)


@lru_cache(maxsize=4096)
def grants_of(permissions: tuple[str, ...], withheld: tuple[str, ...] = ()) -> Grants:
    """Return the grants of a key; its macros leave out the `withheld` permissions.

    Remembered, because every request asks and few keys differ.
    """
    concrete = expand(permissions) - (set(withheld) - set(permissions))
    return Grants(concrete, frozenset(name.partition(":")[0] for name in concrete))
