"""The guards on granting permissions to a new key (spec 4.1, 5.8), in the order of assumed 4.4.

All rules must pass. Asking for `all` counts as asking for everything that the caller's kind of
account may grant: `all` from a partner has no `webhooks:*` and nothing that is admin-only, whatever
the caller's own key holds (assumed 4.4-all, D36).
"""

from collections.abc import Collection
from typing import Final

from msgspec import Struct

from sandbox.domain.accounts import AccountType
from sandbox.domain.permissions import ACTIONS, CONCRETE, Grants, expand, grants_of

PSP_ONLY: Final = frozenset(f"webhooks:{action}" for action in ACTIONS["webhooks"])
"""Granted by PSP accounts alone. Source: spec 2.2-webhooks, 5.8."""

MAY_GRANT_ADMIN_ONLY: Final = (AccountType.ADMIN, AccountType.PSP)
"""The accounts that grant the permissions which a profile calls admin-only. Source: spec 4.1.5."""


def withheld_from_all(account_type: AccountType, admin_only: Collection[str]) -> tuple[str, ...]:
    """What `all` leaves out if an account of this type grants it. Source: assumed D36."""
    return tuple(
        name
        for name in CONCRETE
        if (name in PSP_ONLY and account_type is not AccountType.PSP)
        or (name in admin_only and account_type not in MAY_GRANT_ADMIN_ONLY)
    )


class GrantRefusal(Struct, frozen=True, kw_only=True, gc=False):
    """Why a grant is refused: the permissions in question, a sentence, and the clause."""

    permissions: tuple[str, ...]
    reason: str
    source: str


def refuse_grant(
    requested: tuple[str, ...],
    held: Grants,
    account_type: AccountType,
    admin_only: Collection[str],
    *,
    withheld: Collection[str] = (),
    withheld_from_caller: Collection[str] = (),
    all_needs_psp: bool = False,
) -> GrantRefusal | None:
    """The first guard that these requested permissions fail, or None when all pass.

    `admin_only` are the permissions that only admin and PSP accounts grant; the spec names the
    set and does not list it (assumed Q14). `withheld` is what `all` of the new key leaves out,
    `withheld_from_caller` what that of the caller's key does. `all_needs_psp` counts `all` as
    naming `webhooks:*` (assumed D35-all).
    """
    not_its_own = withheld_from_all(account_type, admin_only)
    beyond = tuple(
        name
        for name in requested
        if not grants_of((name,), tuple(withheld)).concrete <= held.concrete
        # The rules below refuse these, with the better reason.
        and not (name in withheld_from_caller and name in not_its_own)
    )
    if beyond:
        return GrantRefusal(
            permissions=beyond,
            reason="the calling key does not hold what it grants",
            source="spec 4.1.4",
        )
    reserved = tuple(
        name
        for name in requested
        if name in PSP_ONLY or (all_needs_psp and expand((name,)) >= PSP_ONLY)
    )
    if reserved and account_type is not AccountType.PSP:
        return GrantRefusal(
            permissions=reserved,
            reason="only a PSP account grants webhooks permissions",
            source="spec 5.8",
        )
    guarded = tuple(name for name in requested if name in admin_only)
    if guarded and account_type not in MAY_GRANT_ADMIN_ONLY:
        return GrantRefusal(
            permissions=guarded,
            reason="only an admin or PSP account grants these",
            source="spec 4.1.5",
        )
    return None
