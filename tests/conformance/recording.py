"""A recording of the sandbox itself, as a proxy in front of it would write it."""

import base64
import json
from typing import Any

from sandbox.app import build
from sandbox.settings import Settings
from tests.driving import InProcess, Response

HOST = "https://uat.example.com/platform"
TIME = "2026-03-01T12:00:{:02d}.000Z"


class Recorder(InProcess):
    """Sends requests to a world of its own, and writes down those to the platform."""

    def __init__(self, seed: int, readings: dict[str, Any]) -> None:
        super().__init__(build(Settings()))
        begin = {"id": "recorded", "seed": seed, "clock": TIME.format(0), "readings": readings}
        assert self.control("POST", "/worlds", begin).status == 201
        self.world = "recorded"
        self.entries: list[dict[str, Any]] = []

    def carry_out(self, scope: dict[str, Any], payload: bytes) -> Response:
        if scope["path"].startswith("/_sandbox"):
            return super().carry_out(scope, payload)
        at = TIME.format(len(self.entries))
        self.control("POST", "/worlds/recorded/clock/advance", {"to": at})
        answer = super().carry_out(scope, payload)
        query = scope["query_string"].decode()
        headers = {name.decode().title(): value.decode() for name, value in scope["headers"]}
        request: dict[str, Any] = {
            "method": scope["method"],
            "url": HOST + scope["path"] + (query and f"?{query}"),
            "headers": [{"name": n, "value": v} for n, v in headers.items()],
        }
        if payload:
            request["postData"] = {"text": payload.decode()}
        content = {"mimeType": answer.headers["content-type"], "text": answer.body.decode()}
        response = {"status": answer.status, "content": content}
        self.entries.append({"startedDateTime": at, "request": request, "response": response})
        return answer

    def har(self) -> dict[str, Any]:
        """The recording so far, with a request for a page as a browser has it."""
        page = {
            "request": {"method": "GET", "url": "https://pos.example.com/app.js", "headers": []},
            "response": {"status": 200, "content": {}},
            "startedDateTime": TIME.format(0),
        }
        last = json.loads(json.dumps(self.entries[-1]))
        content = last["response"]["content"]
        content["text"] = base64.b64encode(content["text"].encode()).decode()
        content["encoding"] = "base64"
        return {"log": {"version": "1.2", "entries": [page, *self.entries[:-1], last]}}


def recorded(**readings: Any) -> dict[str, Any]:
    """A day at a shop: payments, refusals, a key that is made and used, terminals, a batch."""
    shop = Recorder(7, readings)
    second = "second_merchant"
    sale = shop.paid(at=second, by=second, event_id="e-1")
    shop.pay(at=second, by=second, event_id="e-1")
    shop.act(sale, "refund", by=second, version="v3", amount=100, event_id="e-2")
    shop.read(sale, by=second)
    shop.get("/v1/batches", by=second)
    shop.get("/v2/terminals")
    shop.get("/v2/terminals", query="limit=0")
    shop.get("/v2/terminals", by="svc_uat_nobody000000_" + "x" * 32)
    key = {"name": "till", "permissions": ["terminals:read"], "expires_at": "2026-04-01T00:00:00Z"}
    key["account_id"] = shop.account_id("merchant")
    made = shop.post("/v5/apikeys", key, by="merchant").json()
    shop.get("/v2/terminals", by=made["key"])
    shop.get("/v2/transactions", by=second, query="limit=5")
    return shop.har()
