"""Access control: the decision table behind every 401 and 404, and what a key may grant.

A decision depends on two things: `holds`, the permissions of the caller's key for the operation,
and `Relation`, the position of the target account relative to the caller's. The first two rows give
the same answer for every relation, so they are decided before any lookup. Their answers reveal
nothing about existing records (assumed C5, 4.2).

A new key must pass all guards (spec 4.1, 5.8), in the order of assumed 4.4. Asking for `all` counts
as asking for everything that the caller's kind of account may grant (assumed 4.4-all, D36). `keys`
decides whether a key authenticates.
"""

from collections.abc import Collection
from enum import StrEnum
from typing import Final, Literal, get_args

from msgspec import Struct

from sandbox.domain.directory import AccountType, Relation
from sandbox.domain.faults import FORBIDDEN, Refusal
from sandbox.domain.permissions import ACTIONS, CONCRETE, Grants, expand, grants_of


class Holds(StrEnum):
    """The permissions of a key for one operation."""

    NONE = "nothing of the type"
    OTHER = "another permission of the type"
    BASE = "the base form only"
    SUB = "the :sub form only"
    BOTH = "own and descendant accounts"


AccessVerdict = Literal["ok", "hidden", "denied", "gone"]
"""The result of a decision. Hidden and gone look the same to clients."""


class Need(Struct, frozen=True, kw_only=True, gc=False):
    """The permissions for an operation: any of `base`, or `sub` on descendant accounts.

    A key that lacks the second permission `also`, if there is one, lacks the operation.
    Only API keys have `sub` forms. Without one, a base permission covers own and descendant
    accounts (assumed 4.7).
    """

    resource: str
    base: tuple[str, ...]
    sub: str | None = None
    also: str | None = None

    @property
    def any_of(self) -> tuple[str, ...]:
        """The permissions of which a key needs one."""
        return (*self.base, self.sub) if self.sub else self.base

    def __str__(self) -> str:
        text = " or ".join(self.any_of)
        return f"{text}, and {self.also}" if self.also else text


def need(*base: str, sub: bool = False) -> Need:
    """Return the need for any of these permissions.

    With `sub`, descendants need the :sub form of the first one.
    """
    return Need(
        resource=base[0].partition(":")[0], base=base, sub=f"{base[0]}:sub" if sub else None
    )


class Access(Struct, frozen=True, gc=False):
    """One cell of the table: the verdict, the reason for the operator, and the clause."""

    verdict: AccessVerdict
    reason: str
    source: str


_HIDDEN = Access("hidden", "the key holds no permission of the type", "spec 5.9")
_DENIED = Access("denied", "the key sees the type but lacks the operation", "spec 5.9")
_OUTSIDE = Access("gone", "the account is outside the caller's hierarchy", "spec 7-404")
_GONE = Access("gone", "it does not exist or was deleted", "spec 7-404")
_NEEDS_SUB = Access(
    "denied",
    "a descendant account needs the :sub form, which the key lacks",
    "spec 5.7",
)
_NEEDS_BASE = Access(
    "denied", "the own account needs the base form, which the key lacks", "spec 5.7"
)
_OWN = Access("ok", "own account", "spec 5.7")
_DESCENDANT = Access("ok", "descendant account", "spec 5.7")


def _cells(own: Access, descendant: Access) -> dict[Relation, Access]:
    return {"own": own, "descendant": descendant, "outside": _OUTSIDE, "gone": _GONE}


ACCESS: Final[dict[Holds, dict[Relation, Access]]] = {
    Holds.NONE: dict.fromkeys(get_args(Relation), _HIDDEN),
    Holds.OTHER: dict.fromkeys(get_args(Relation), _DENIED),
    Holds.BASE: _cells(_OWN, _NEEDS_SUB),
    Holds.SUB: _cells(_NEEDS_BASE, _DESCENDANT),
    Holds.BOTH: _cells(_OWN, _DESCENDANT),
}
"""Assumed 4.2 (API keys) and 4.7 (everything else, where BASE and SUB do not occur)."""

_BEFORE_LOOKUP: Final = {Holds.NONE: _HIDDEN, Holds.OTHER: _DENIED}
"""The rows that give the same answer for every relation."""

_FORMS: Final = {
    (False, False): Holds.OTHER,
    (True, False): Holds.BASE,
    (False, True): Holds.SUB,
    (True, True): Holds.BOTH,
}
"""What a key holds that has the base form or not, and the :sub form or not."""


def holds(grants: Grants, wanted: Need) -> Holds:
    """Tell which of the permissions for this need these grants hold."""
    if wanted.resource not in grants.types:
        return Holds.NONE
    if wanted.also is not None and wanted.also not in grants:
        return Holds.OTHER
    has_base = not grants.concrete.isdisjoint(wanted.base)
    has_sub = has_base if wanted.sub is None else wanted.sub in grants.concrete
    return _FORMS[has_base, has_sub]


def before_lookup(held: Holds) -> Access | None:
    """Return the refusal that needs no target, or None if the target decides."""
    return _BEFORE_LOOKUP.get(held)


PSP_ONLY: Final = frozenset(f"webhooks:{action}" for action in ACTIONS["webhooks"])
"""Permissions that only PSP accounts grant. Source: spec 2.2-webhooks, 5.8."""

MAY_GRANT_ADMIN_ONLY: Final = (AccountType.ADMIN, AccountType.PSP)
"""The accounts that grant the permissions which a profile calls admin-only. Source: spec 4.1.5."""


def withheld_from_all(account_type: AccountType, admin_only: Collection[str]) -> tuple[str, ...]:
    """Return what `all` leaves out if an account of this type grants it. Source: assumed D36."""
    return tuple(
        name
        for name in CONCRETE
        if (name in PSP_ONLY and account_type is not AccountType.PSP)
        or (name in admin_only and account_type not in MAY_GRANT_ADMIN_ONLY)
    )


def check_grant(
    requested: tuple[str, ...],
    held: Grants,
    account_type: AccountType,
    admin_only: Collection[str],
    *,
    withheld: Collection[str] = (),
    withheld_from_caller: Collection[str] = (),
    all_needs_psp: bool = False,
) -> None:
    """Raise Refusal by the first guard that these requested permissions fail.

    `admin_only` are the permissions that only admin and PSP accounts grant; the spec mentions the
    set but does not list it (assumed Q14). `withheld` is what `all` leaves out for the new key, and
    `withheld_from_caller` what it leaves out for the caller's. With `all_needs_psp`, asking for
    `all` counts as asking for `webhooks:*` (assumed D35-all).
    """
    not_its_own = withheld_from_all(account_type, admin_only)
    beyond = tuple(
        name
        for name in requested
        if not grants_of((name,), tuple(withheld)).concrete <= held.concrete
        # The rules below refuse these with a better reason.
        and not (name in withheld_from_caller and name in not_its_own)
    )
    reserved = tuple(
        name
        for name in requested
        if name in PSP_ONLY or (all_needs_psp and expand((name,)) >= PSP_ONLY)
    )
    guarded = tuple(name for name in requested if name in admin_only)
    is_psp, is_admin = account_type is AccountType.PSP, account_type in MAY_GRANT_ADMIN_ONLY
    for names, reason, source in (
        (beyond, "the calling key does not hold what it grants", "spec 4.1.4"),
        (() if is_psp else reserved, "only a PSP account grants webhooks permissions", "spec 5.8"),
        (() if is_admin else guarded, "only an admin or PSP account grants these", "spec 4.1.5"),
    ):
        if names:
            shown = ", ".join(names)
            raise Refusal(
                FORBIDDEN,
                f"permissions: {shown} cannot be granted by this key",
                reason=f"{reason}: {shown} (the caller is a {account_type} account)",
                source=source,
                step="grant",
            )
