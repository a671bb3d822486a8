"""How tests make and change accounts, terminals, locations, credentials and keys."""

from typing import Any

from tests.in_process import Response
from tests.support.caller import Caller

NOBODY = "00000000-0000-4000-8000-000000000000"
"""An id that no record has."""

ADDRESS = {
    "street_line1": "12 Elm St",
    "street_line2": None,
    "city": "Austin",
    "state": "TX",
    "zip": "78704",
    "country": "USA",
}

ACCOUNT = {
    "type": "merchant",
    "name": "Elm Street Bakery",
    "description": "Bakery",
    "address": ADDRESS,
}
"""The least that an account is created with."""

TERMINAL = {
    "account_id": "",
    "processor_config_id": "cfg-tsys-001",
    "name": "bar",
    "mid": "886000002000",
    "tid": "00000042",
}
"""The least that a terminal is created with, but for the account."""

SUPPLIED_KEY = "svc_uat_Supplied0000_" + "S" * 32
"""A key that its owner supplies."""

LISTINGS = {
    "accounts": "/v1/accounts",
    "terminals": "/v2/terminals",
    "locations": "/v1/locations",
    "credentials": "/v1/accounts/credentials",
}


def supplied(key: str = SUPPLIED_KEY) -> dict[str, Any]:
    """The part of a body that supplies a key."""
    return {"always_retrievable": True, "key": key}


class DirectoryCaller(Caller):
    """Keeps the directory. `account` is a name of the cast or an id."""

    def an_account(
        self, *, by: str = "partner", path: str = "/v1/accounts", **more: Any
    ) -> dict[str, Any]:
        return self.post(path, ACCOUNT | more, by=by).expect(201)

    def terminal_body(self, account: str = "merchant", **more: Any) -> dict[str, Any]:
        """The least that a terminal is created with."""
        return TERMINAL | {"account_id": self.account_id(account)} | more

    def a_terminal(
        self, account: str = "merchant", *, by: str = "partner", **more: Any
    ) -> dict[str, Any]:
        return self.post("/v2/terminals", self.terminal_body(account, **more), by=by).expect(201)

    def a_location(
        self, account: str = "merchant", *, by: str = "partner", **more: Any
    ) -> dict[str, Any]:
        body = {"account_id": self.account_id(account), "name": "Patio"} | more
        return self.post("/v1/locations", body, by=by).expect(201)

    def a_credential(
        self, account: str = "merchant", *, by: str = "partner", **more: Any
    ) -> dict[str, Any]:
        body = {"account_id": self.account_id(account)} | more
        return self.post("/v1/accounts/credentials", body, by=by).expect(201)

    # --- keys ---------------------------------------------------------------------------------

    def create_key(self, *, by: str = "merchant", **more: Any) -> Response:
        """A key on the caller's account unless `more` says otherwise."""
        body = {"name": "made", "permissions": ["payments:read"]} | more
        return self.post("/v5/apikeys", body, by=by)

    def mint(
        self, permissions: list[str], *, by: str, account: str | None = None, **more: Any
    ) -> dict[str, Any]:
        """A key with exactly these permissions, on the caller's account unless one is named."""
        wanted = {"name": "minted", "permissions": permissions, **more}
        if account is not None:
            wanted["account_id"] = self.account_id(account)
        return self.create_key(by=by, **wanted).expect(201)

    def read_key(self, id: str, *, by: str = "merchant") -> Any:
        return self.get(f"/v5/apikeys/{id}", by=by).expect(200)

    def change_key(self, id: str, *, by: str = "merchant", **changes: Any) -> Response:
        return self.put(f"/v5/apikeys/{id}", changes, by=by)

    def delete_key(self, id: str, *, by: str = "merchant") -> Response:
        return self.delete(f"/v5/apikeys/{id}", by=by)

    def authenticates(self, key: str) -> bool:
        """Whether a request with this key gets past authentication, whatever comes then."""
        answer = self.get("/v5/apikeys", by=key)
        return answer.status != 401 or answer.json()["error"] != "authentication_failed"

    # --- what they have in common -------------------------------------------------------------

    def _path(self, kind: str, name: str) -> str:
        """Where an account, a terminal or a location of the cast is."""
        id = getattr(self, f"{kind}_id")(name)
        return f"{LISTINGS[f'{kind}s']}/{id}"

    def set_status(self, kind: str, name: str, status: str = "blocked") -> None:
        self.put(self._path(kind, name), {"status": status}, by="psp").expect(200)

    def set_rates(self, kind: str, name: str, **rates: Any) -> None:
        self.put(self._path(kind, name), rates).expect(200)

    def drop(self, kind: str, name: str) -> None:
        self.delete(self._path(kind, name)).expect(204)
