"""The API key of a request, and who calls with it."""

from typing import TYPE_CHECKING

from msgspec import Struct

from sandbox.domain.directory import Account
from sandbox.domain.keys import ApiKey
from sandbox.domain.permissions import Grants
from sandbox.worlds.journal import Decision

if TYPE_CHECKING:
    from sandbox.worlds.world import World


class Caller(Struct):
    """The caller: the key, its account, its grants, and the decision that it may call."""

    key: ApiKey
    account: Account
    grants: Grants
    decision: Decision


class PresentedKey(Struct):
    """The API key of a request: its world and record, or the reason why it has none."""

    world: "World | None"
    key: ApiKey | None
    reason: str = ""
    source: str = "spec 5.1"
    is_production: bool = False
    _caller: Caller | None = None

    def caller(self, account: Account) -> Caller:
        """Who calls with this key of that account. Remembered for the next request."""
        known = self._caller
        if known is None or known.account is not account:
            key = self.key
            assert key is not None
            introduction = f"key {key.id} ({key.name!r}) of {account.id}"
            decision = ("authenticate", "ok", introduction, "spec 5.1")
            known = self._caller = Caller(key, account, key.grants, decision)
        return known
