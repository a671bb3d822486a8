"""A recording of the sandbox itself, as a proxy in front of it would write it."""

import base64
import json
from collections.abc import Mapping
from typing import Any

from sandbox.conformance.clients import InProcess, Request, control
from sandbox.domain.profile import Profile

HOST = "https://uat.example.com/platform"
TIME = "2026-03-01T12:00:{:02d}.000Z"


class Recorder:
    """Sends requests to a world of its own, and writes a HAR."""

    def __init__(self, stage: InProcess, *, seed: int, switches: Mapping[str, Any]) -> None:
        self._stage = stage
        clock = {"now": TIME.format(0), "mode": "frozen"}
        readings = {name.removeprefix("readings."): value for name, value in switches.items()}
        begin = {"seed": seed, "clock": clock, "readings": readings}
        self.world = control(stage, "POST", "/worlds", begin)
        self.entries: list[dict[str, Any]] = []

    def ask(
        self, method: str, path: str, body: Any = None, *, key: str = "merchant", **query: str
    ) -> Any:
        """The body of the answer, which is recorded."""
        secret = self.world["keys"][key]["key"] if key in self.world["keys"] else key
        headers = {"accept": "application/json", "x-service-apikey": secret}
        text = None
        if body is not None:
            text, headers["content-type"] = json.dumps(body), "application/json"
        at = TIME.format(len(self.entries))
        control(self._stage, "POST", f"/worlds/{self.world['id']}/clock/advance", {"to": at})
        sent = Request(method, path, tuple(query.items()), headers, text)
        answer = self._stage.send(sent, {})
        assert answer is not None
        search = "?" + "&".join(f"{name}={value}" for name, value in query.items()) if query else ""
        self.entries.append(
            {
                "startedDateTime": at,
                "request": {
                    "method": method,
                    "url": HOST + path + search,
                    "headers": [{"name": n.title(), "value": v} for n, v in headers.items()],
                    **({} if text is None else {"postData": {"text": text}}),
                },
                "response": {
                    "status": answer.status,
                    "content": {"mimeType": answer.media_type, "text": answer.text},
                },
            }
        )
        return json.loads(answer.text) if answer.text else None

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


def recorded(*, seed: int = 7, **switches: Any) -> dict[str, Any]:
    """A day at a shop: payments, refusals, a key that is made and used, terminals, a batch."""
    with InProcess(Profile(), "demo") as stage:
        recorder = Recorder(stage, seed=seed, switches=switches)
        ask, world = recorder.ask, recorder.world
        terminal = world["terminals"]["second_merchant"]
        sale = {"amount": 1000, "event_id": "e-1", "terminal_id": terminal}
        paid = ask("POST", "/v3/payment", sale, key="second_merchant")
        id = paid["transaction_id"]
        ask("POST", "/v3/payment", sale, key="second_merchant")
        ask("POST", f"/v3/payments/{id}/refund", {"amount": 100, "event_id": "e-2"},
            key="second_merchant")  # fmt: skip
        ask("GET", f"/v1/transactions/{id}", key="second_merchant")
        ask("GET", "/v1/batches", key="second_merchant")
        ask("GET", "/v2/terminals", key="partner")
        ask("GET", "/v2/terminals", key="partner", limit="0")
        ask("GET", "/v2/terminals", key="svc_uat_nobody000000_" + "x" * 32)
        made = ask("POST", "/v5/apikeys", {
            "name": "till", "permissions": ["terminals:read"],
            "account_id": world["accounts"]["merchant"],
            "expires_at": "2026-04-01T00:00:00Z",
        })  # fmt: skip
        ask("GET", "/v2/terminals", key=made["key"])
        ask("GET", "/v2/transactions", key="second_merchant", limit="5")
        return recorder.har()
