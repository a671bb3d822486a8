"""The guards on granting permissions to a new key (spec 4.1, 5.8), in the order of assumed 4.4.

All rules must pass. Asking for `all` counts as asking for everything it expands to when it is
compared with what the caller holds, but not as naming `webhooks:*`: otherwise no key outside a
PSP could ever pass on `all` (assumed 4.4-all).
"""

from collections.abc import Collection
from typing import Final

from sandbox.domain.accounts import AccountType
from sandbox.domain.permissions import ACTIONS, Grants, expand
from sandbox.domain.values import Value

PSP_ONLY: Final = frozenset(f"webhooks:{action}" for action in ACTIONS["webhooks"])
"""Granted by PSP accounts alone. Source: spec 2.2-webhooks, 5.8."""

MAY_GRANT_ADMIN_ONLY: Final = (AccountType.ADMIN, AccountType.PSP)
"""The accounts that grant the permissions which a profile calls admin-only. Source: spec 4.1.5."""


class GrantRefusal(Value, frozen=True):
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
    all_needs_psp: bool = False,
) -> GrantRefusal | None:
    """The first guard that these requested permissions fail, or None when all pass.

    `admin_only` are the permissions that only admin and PSP accounts grant; the spec names the
    set and does not list it (assumed Q14). `all_needs_psp` counts `all` as naming `webhooks:*`
    (assumed D35-all).
    """
    beyond = tuple(name for name in requested if not expand((name,)) <= held.concrete)
    if beyond:
        return GrantRefusal(beyond, "the calling key does not hold what it grants", "spec 4.1.4")
    reserved = tuple(
        name
        for name in requested
        if name in PSP_ONLY or (all_needs_psp and expand((name,)) >= PSP_ONLY)
    )
    if reserved and account_type is not AccountType.PSP:
        return GrantRefusal(reserved, "only a PSP account grants webhooks permissions", "spec 5.8")
    guarded = tuple(name for name in requested if name in admin_only)
    if guarded and account_type not in MAY_GRANT_ADMIN_ONLY:
        return GrantRefusal(guarded, "only an admin or PSP account grants these", "spec 4.1.5")
    return None
