"""Access control: the decision table behind every 401 and 404.

A decision depends on two things: `holds`, the permissions of the caller's key for the operation,
and `Relation`, the position of the target account relative to the caller's. The first two rows give
the same answer for every relation, so they are decided before any lookup. Their answers reveal
nothing about existing records (assumed C5, 4.2).

`escalation` decides which permissions a key may grant; `keys` decides whether a key authenticates.
"""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from sandbox.domain.hierarchy import Relation
from sandbox.domain.permissions import Grants


class Holds(StrEnum):
    """The permissions of a key for one operation."""

    NONE = "nothing of the type"
    OTHER = "another permission of the type"
    BASE = "the base form only"
    SUB = "the :sub form only"
    BOTH = "own and descendant accounts"


class AccessVerdict(StrEnum):
    """The result of a decision. Hidden and gone look the same to clients."""

    OK = "ok"
    HIDDEN = "hidden"
    DENIED = "denied"
    GONE = "gone"


class Need(Struct, frozen=True, kw_only=True, gc=False):
    """The permissions for an operation: any of `base`, or `sub` on descendant accounts.

    Only API keys have `sub` forms. Without one, a base permission covers own and descendant
    accounts (assumed 4.7).
    """

    resource: str
    base: tuple[str, ...]
    sub: str | None = None

    def __str__(self) -> str:
        return " or ".join((*self.base, self.sub) if self.sub else self.base)


def need(*base: str, sub: bool = False) -> Need:
    """The need for any of these permissions; with `sub`, of the one's :sub form on descendants."""
    return Need(
        resource=base[0].partition(":")[0], base=base, sub=f"{base[0]}:sub" if sub else None
    )


class Access(Struct, frozen=True, gc=False):
    """One cell of the table: the verdict, why in words for the operator, and the clause."""

    verdict: AccessVerdict
    reason: str
    source: str


_HIDDEN = Access(AccessVerdict.HIDDEN, "the key holds no permission of the type", "spec 5.9")
_DENIED = Access(AccessVerdict.DENIED, "the key sees the type but lacks the operation", "spec 5.9")
_OUTSIDE = Access(AccessVerdict.GONE, "the account is outside the caller's hierarchy", "spec 7-404")
_GONE = Access(AccessVerdict.GONE, "it does not exist or was deleted", "spec 7-404")
_NEEDS_SUB = Access(
    AccessVerdict.DENIED,
    "a descendant account needs the :sub form, which the key lacks",
    "spec 5.7",
)
_NEEDS_BASE = Access(
    AccessVerdict.DENIED, "the own account needs the base form, which the key lacks", "spec 5.7"
)
_OWN = Access(AccessVerdict.OK, "own account", "spec 5.7")
_DESCENDANT = Access(AccessVerdict.OK, "descendant account", "spec 5.7")

ACCESS: Final[dict[Holds, dict[Relation, Access]]] = {
    Holds.NONE: dict.fromkeys(Relation, _HIDDEN),
    Holds.OTHER: dict.fromkeys(Relation, _DENIED),
    Holds.BASE: {
        Relation.OWN: _OWN,
        Relation.DESCENDANT: _NEEDS_SUB,
        Relation.OUTSIDE: _OUTSIDE,
        Relation.GONE: _GONE,
    },
    Holds.SUB: {
        Relation.OWN: _NEEDS_BASE,
        Relation.DESCENDANT: _DESCENDANT,
        Relation.OUTSIDE: _OUTSIDE,
        Relation.GONE: _GONE,
    },
    Holds.BOTH: {
        Relation.OWN: _OWN,
        Relation.DESCENDANT: _DESCENDANT,
        Relation.OUTSIDE: _OUTSIDE,
        Relation.GONE: _GONE,
    },
}
"""Assumed 4.2 (API keys) and 4.7 (everything else, where BASE and SUB do not occur)."""


def holds(grants: Grants, wanted: Need) -> Holds:
    """What these grants hold for this need."""
    if wanted.resource not in grants.types:
        return Holds.NONE
    has_base = not grants.concrete.isdisjoint(wanted.base)
    if wanted.sub is None:
        return Holds.BOTH if has_base else Holds.OTHER
    has_sub = wanted.sub in grants.concrete
    if has_base and has_sub:
        return Holds.BOTH
    if has_base:
        return Holds.BASE
    return Holds.SUB if has_sub else Holds.OTHER


def before_lookup(held: Holds) -> Access | None:
    """The refusal that needs no target, or None if the target decides."""
    return ACCESS[held][Relation.GONE] if held in (Holds.NONE, Holds.OTHER) else None


def decide(held: Holds, relation: Relation) -> Access:
    """The cell of the table."""
    return ACCESS[held][relation]
