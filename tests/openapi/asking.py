"""Requests by the document alone: its examples, and every way to have one refused."""

from typing import Any

from tests.driving import Response
from tests.openapi.described import Checked

BODY_BYTES_MAX = 1_048_576

REJECTED = 900405
"""The amount that has its batch rejected."""


class Request:
    """The example of an operation, with what it needs made first."""

    def __init__(self, sandbox: Checked, name: str) -> None:
        self.sandbox = sandbox
        operations = sandbox.platform.operations
        self.method, self.path = sandbox.platform.addresses[name]
        self.operation = operations[name]
        self.example = self.operation.get("x-example", {})
        self.by = self.example.get("by")
        content = self.operation.get("requestBody", {}).get("content", {})
        self.body = content.get("application/json", {}).get("example")
        given = [one for one in self.operation.get("parameters", []) if one["in"] == "path"]
        id = given[0].get("example") if given else None
        if "first" in self.example:
            id = self._made(self.example["first"])
            if "takes" in self.example:
                self.body = {**self.body, self.example["takes"]: id}
        self.id = id

    def _made(self, first: dict[str, Any]) -> str:
        method, path = self.sandbox.platform.addresses[first["operation"]]
        answer = self.sandbox.ask(method, path, key=first["by"], json_body=first["body"])
        assert answer.status in (200, 201), answer
        shown = answer.json()
        found = (shown.get(name) for name in ("transaction_id", "id", "terminal_id"))
        return str(next(id for id in found if id))

    def send(self, **other: Any) -> Response:
        """The example, with something of it otherwise."""
        path = self.path
        if "{" in path:
            beginning, _, rest = path.partition("{")
            path = beginning + (other.pop("id", None) or self.id) + rest.partition("}")[2]
        sent: dict[str, Any] = {"key": self.by}
        if self.body is not None:
            sent["json_body"] = self.body
        return self.sandbox.ask(self.method, path, **{**sent, **other})

    def send_with(self, *headers: tuple[str, str]) -> Response:
        """The example with these headers instead, and its key."""
        key = (self.sandbox.header, self.sandbox.key(self.by))
        raw = [(name.encode(), value.encode()) for name, value in (key, *headers)]
        return self.send(headers=raw)


# --- refusals ---------------------------------------------------------------------------------


def refused(sandbox: Checked, name: str, status: int) -> Response:
    """What the operation answers when it is asked in a way that comes to this status."""
    request = Request(sandbox, name)
    if status in _WAYS:
        return _WAYS[status](request)
    if status == 409:
        return _conflicting(request)
    if status == 423:
        return _blocked(request)
    return request.send_with(
        ("content-type", "application/json"), ("x-sandbox-outcome", f"http_{status}")
    )


def _invalid(request: Request) -> Response:
    if request.body is not None:
        return request.send(json_body=..., body=b"{")
    request.sandbox.manage("PUT", "/switches", {"strict_headers": True})
    return request.send_with()


def _hidden(request: Request) -> Response:
    """A key that holds nothing of the type."""
    other = "payments:read" if request.operation["tags"] == ["batches"] else "batches:read"
    return request.send(key=request.sandbox.mint([other], by=request.by)["key"])


def _forbidden(request: Request) -> Response:
    if "permissions" in request.body:
        return request.send(json_body={"name": "x", "permissions": ["webhooks:read"]})
    return request.send(json_body={**request.body, "type": "psp"}, key="psp")


def _too_large(request: Request) -> Response:
    return request.send(json_body=..., body=b" " * (BODY_BYTES_MAX + 1))


_WAYS = {
    400: _invalid,
    401: lambda request: request.send(key=None),
    403: _forbidden,
    404: _hidden,
    405: lambda request: request.send(),
    406: lambda request: request.send_with(("accept", "text/html")),
    413: _too_large,
    415: lambda request: request.send_with(("content-type", "text/plain")),
}


def _conflicting(request: Request) -> Response:
    """The second of two requests that cannot both be carried out."""
    sandbox, name = request.sandbox, request.operation["operationId"].removesuffix("_v2")
    if name == "accounts.delete":
        return request.send(id=sandbox.account_id("partner"))
    if name == "credentials.create":
        request.body = {"code": "100000000001"}
    if name == "terminals.update":
        made = Request(sandbox, "terminals.create")
        made.send()
        request.body = {name: made.body[name] for name in ("mid", "tid")}
        return request.send()
    if name == "terminals.delete":
        request.id = _sold(sandbox)["tid"]
        return request.send()
    if name == "batches.edit":
        rejected = _sold(sandbox, amount=REJECTED)["batch_id"]
        sandbox.post(f"/v1/batches/{rejected}/close", by="merchant")
        _sold(sandbox)
        return request.send(id=rejected)
    request.send()
    return request.send()


def _sold(sandbox: Checked, **other: Any) -> Any:
    request = Request(sandbox, "payments.create")
    return request.send(json_body={**request.body, **other}).expect(200)


def _blocked(request: Request) -> Response:
    """The same, once the account in question is blocked."""
    of_partner = request.operation["operationId"].startswith("payments.confirm")
    account = request.sandbox.account_id("surcharge_merchant" if of_partner else "merchant")
    request.sandbox.post(f"/v1/accounts/{account}/block")
    if request.operation["operationId"].startswith("accounts."):
        request.body = request.body and {"status": "active"}
        return request.send(id=account, key="merchant")
    return request.send()
