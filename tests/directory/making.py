"""How directory tests make records and look at what happened. All of it through the API."""

from typing import Any

from tests.driving import InProcess, Response

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

LISTINGS = {
    "accounts": "/v1/accounts",
    "terminals": "/v2/terminals",
    "locations": "/v1/locations",
    "credentials": "/v1/accounts/credentials",
}


def made(answer: Response) -> dict[str, Any]:
    """What a creation answered with."""
    assert answer.status == 201, answer.body
    body: dict[str, Any] = answer.json()
    return body


def shown(answer: Response) -> dict[str, Any]:
    """What a read or a change answered with."""
    assert answer.status == 200, answer.body
    body: dict[str, Any] = answer.json()
    return body


def detail(answer: Response, status: int = 400, error: str = "validation_error") -> str:
    """What a refusal says, once its status and code are the expected ones."""
    body = answer.json() if answer.body else {}
    assert (answer.status, body.get("error")) == (status, error), answer.body
    assert list(body) == ["detail", "error"]
    return str(body["detail"])


# --- records ----------------------------------------------------------------------------------


def post(sandbox: InProcess, path: str, body: Any, *, by: str = "partner") -> Response:
    return sandbox.ask("POST", path, key=by, json_body=body)


def put(sandbox: InProcess, path: str, body: Any, *, by: str = "partner") -> Response:
    return sandbox.ask("PUT", path, key=by, json_body=body)


def get(sandbox: InProcess, path: str, *, by: str = "partner", query: str = "") -> Response:
    return sandbox.ask("GET", path, key=by, query=query)


def delete(sandbox: InProcess, path: str, *, by: str = "partner") -> Response:
    return sandbox.ask("DELETE", path, key=by)


def an_account(
    sandbox: InProcess, *, by: str = "partner", path: str = "/v1/accounts", **more: Any
) -> dict[str, Any]:
    return made(post(sandbox, path, ACCOUNT | more, by=by))


def terminal_body(sandbox: InProcess, account: str = "merchant", **more: Any) -> dict[str, Any]:
    """The least that a terminal is created with; `account` is a name of the cast or an id."""
    return {
        "account_id": account_id(sandbox, account),
        "processor_config_id": "cfg-tsys-001",
        "name": "bar",
        "mid": "886000002000",
        "tid": "00000042",
    } | more


def a_terminal(
    sandbox: InProcess, account: str = "merchant", *, by: str = "partner", **more: Any
) -> dict[str, Any]:
    return made(post(sandbox, "/v2/terminals", terminal_body(sandbox, account, **more), by=by))


def a_location(
    sandbox: InProcess, account: str = "merchant", *, by: str = "partner", **more: Any
) -> dict[str, Any]:
    body = {"account_id": account_id(sandbox, account), "name": "Patio"} | more
    return made(post(sandbox, "/v1/locations", body, by=by))


def a_credential(
    sandbox: InProcess, account: str = "merchant", *, by: str = "partner", **more: Any
) -> dict[str, Any]:
    body = {"account_id": account_id(sandbox, account)} | more
    return made(post(sandbox, "/v1/accounts/credentials", body, by=by))


def mint(
    sandbox: InProcess, permissions: list[str], *, by: str, account: str | None = None, **more: Any
) -> dict[str, Any]:
    """A key with exactly these permissions, on the caller's account unless one is named."""
    body = {"name": "minted", "permissions": permissions, **more}
    if account is not None:
        body["account_id"] = account_id(sandbox, account)
    return made(post(sandbox, "/v5/apikeys", body, by=by))


# --- the cast ---------------------------------------------------------------------------------


def account_id(sandbox: InProcess, name: str) -> str:
    """The id of an account of the cast; anything else as it is."""
    return _cast(sandbox).accounts.get(name, name)


def terminal_id(sandbox: InProcess, name: str) -> str:
    return str(_cast(sandbox).terminals[name])


def location_id(sandbox: InProcess, name: str) -> str:
    return str(_cast(sandbox).locations[name])


def _cast(sandbox: InProcess) -> Any:
    world = sandbox.sandbox.worlds.get(sandbox.world)
    assert world is not None
    return world.cast


# --- what happened ----------------------------------------------------------------------------


def set_clock(sandbox: InProcess, now: str) -> None:
    answer = sandbox.control("PUT", f"/worlds/{sandbox.world}/clock", {"now": now})
    assert answer.status == 200, answer.body


def messages(sandbox: InProcess) -> list[dict[str, Any]]:
    """The messages of the world, oldest first."""
    found: list[dict[str, Any]] = sandbox.control(
        "GET", f"/worlds/{sandbox.world}/messages"
    ).json()["messages"]
    return found


def events(sandbox: InProcess) -> list[str]:
    return [message["event_type"] for message in messages(sandbox)]


def everything(sandbox: InProcess) -> list[bytes]:
    """Every listing of the directory and every message: what a refusal must leave as it was."""
    listed = [
        sandbox.ask("GET", path, key=key, query="limit=200").body
        for path in LISTINGS.values()
        for key in ("admin", "psp")
    ]
    return [*listed, sandbox.control("GET", f"/worlds/{sandbox.world}/messages").body]
