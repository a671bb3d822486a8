"""A platform to be asked: a sandbox in this process, with readings turned, or in trouble."""

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sandbox.conformance.clients import HttpAnswer, InProcess, Request, control
from sandbox.conformance.probe_runner import Pace
from sandbox.conformance.probe_table import Probe
from sandbox.conformance.probe_table import ProbeRequest as Asked
from sandbox.conformance.verification import Wanted, ask
from sandbox.domain.profile import Profile, parse_profile

RUN = "0a1b2c3d"


@dataclass
class Time:
    """A clock that only waiting moves."""

    now_s: float = 0.0
    waits: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        self.waits.append(seconds)

    def pace(self) -> Pace:
        return Pace(lambda: self.now_s, self.sleep)


class Uat(AbstractContextManager["Uat"]):
    """A demo world of a sandbox with this profile and these switches."""

    def __init__(self, profile: Profile, switches: Mapping[str, Any]) -> None:
        self._stage = InProcess(profile, "demo")
        self.world = control(self._stage, "POST", "/worlds", {"switches": dict(switches)})
        self.keys = {"own": self.key("merchant"), "partner": self.key("partner")}
        self.asked: list[Asked] = []
        self.trouble: Callable[[Asked, Callable[[], HttpAnswer]], HttpAnswer] = (
            lambda request, answer: answer()
        )

    def __exit__(self, *_: Any) -> None:
        self._stage.__exit__(None, None, None)

    def key(self, name: str) -> str:
        return str(self.world["keys"][name]["key"])

    def account(self, name: str = "merchant") -> str:
        return str(self.world["accounts"][name])

    def pay(self, path: str = "/v3/payment", card: str = "tok_visa_credit") -> str:
        """The id of a payment of $10.00 that was tapped."""
        body = {
            "terminal_id": self.world["terminals"]["merchant"],
            "amount": 1000,
            "card_reader_data": {"paymentCardData": card},
        }
        paid = self.answer(Asked(method="POST", path=path, body=body))
        assert paid.status == 200, paid.text
        return str(json.loads(paid.text)["transaction_id"])

    def answer(self, request: Asked) -> HttpAnswer:
        """The answer of the sandbox, whatever trouble there is."""
        key = self.keys["own"] if request.key is None else request.key
        headers = {"x-service-apikey": key} if key else {}
        if request.has_accept:
            headers["accept"] = "application/json"
        body = None
        if request.body is not None:
            body, headers["content-type"] = json.dumps(request.body), "application/json"
        sent = Request(request.method, request.path, request.query, headers, body)
        answer = self._stage.send(sent, {})
        assert answer is not None
        return HttpAnswer(answer.status, {}, answer.text)

    def send(self, request: Asked) -> HttpAnswer:
        self.asked.append(request)
        return self.trouble(request, lambda: self.answer(request))

    def ask(
        self, folder: Path, *allowed: str, tx: Mapping[str, str] | None = None
    ) -> tuple[dict[str, Any], Mapping[str, str]]:
        """What `sandbox verify` finds here."""
        wanted = Wanted(run=RUN, allowed=allowed, account=self.account(), tx=tx or {})
        return ask(self.send, Profile(), wanted, Time().pace(), folder, self.keys)

    def left(self) -> list[str]:
        """The names of what runs made and what is there still."""
        found = []
        for path, field_name in (("/v5/apikeys", None), ("/v1/accounts", "accounts")):
            for key in self.keys.values():
                body = json.loads(self.answer(Asked(path=path, key=key)).text)
                found += [one["name"] for one in (body[field_name] if field_name else body)]
        return sorted({name for name in found if name.startswith("verify-")})


def turned(probe: Probe, value: Any) -> tuple[Profile, dict[str, Any]]:
    """A profile and switches in which only this reading is turned."""
    if probe.kind == "switch":
        return Profile(), {probe.name: value}
    document: dict[str, Any] = asdict(Profile())
    if probe.kind == "reading":
        return parse_profile({**document, "readings": {probe.name: value}}), {}
    *sections, name = probe.name.split(".")
    part = document
    for section in sections:
        part = part[section]
    part[name] = value
    return parse_profile(document), {}
