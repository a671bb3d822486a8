"""A platform to be asked: a sandbox in this process, with readings turned, or in trouble."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from sandbox.app import build
from sandbox.conformance.clients import HttpAnswer
from sandbox.conformance.probe_runner import Pace
from sandbox.conformance.probe_table import Probe
from sandbox.conformance.probe_table import ProbeRequest as Asked
from sandbox.conformance.verification import Wanted, ask
from sandbox.domain.profile import Profile, parse_profile
from sandbox.settings import Settings
from tests.driving import InProcess

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


class Uat(InProcess):
    """A demo world of a sandbox with this profile."""

    def __init__(self, profile: Profile | None = None) -> None:
        profile = profile or Profile()
        super().__init__(build(Settings(profile=profile)), header=profile.api_key_header)
        self.keys = {"own": self.key("merchant"), "partner": self.key("partner")}
        self.asked: list[Asked] = []
        self.trouble: Callable[[Asked, Callable[[], HttpAnswer]], HttpAnswer] = (
            lambda request, answer: answer()
        )

    def answer(self, request: Asked) -> HttpAnswer:
        """The answer of the sandbox, whatever trouble there is."""
        self.defaults = {"accept": "application/json"} if request.has_accept else {}
        answer = self.ask(
            request.method,
            request.path,
            key=self.keys["own"] if request.key is None else request.key or None,
            json_body=... if request.body is None else request.body,
            query=urlencode(request.parameters),
        )
        return HttpAnswer(answer.status, {}, answer.body.decode())

    def send(self, request: Asked) -> HttpAnswer:
        self.asked.append(request)
        return self.trouble(request, lambda: self.answer(request))

    def verify(
        self, folder: Path, *allowed: str, tx: Mapping[str, str] | None = None
    ) -> tuple[dict[str, Any], Mapping[str, str]]:
        """What `sandbox verify` finds here."""
        wanted = Wanted(run=RUN, allowed=allowed, account=self.account_id("merchant"), tx=tx or {})
        return ask(self.send, Profile(), wanted, Time().pace(), folder, self.keys)

    def left(self) -> list[str]:
        """The names of what runs made and what is there still."""
        found = []
        for path, field_name in (("/v5/apikeys", None), ("/v1/accounts", "accounts")):
            for key in self.keys.values():
                body = json.loads(self.answer(Asked(path=path, key=key)).text)
                found += [one["name"] for one in (body[field_name] if field_name else body)]
        return sorted({name for name in found if name.startswith("verify-")})


def turned(probe: Probe, value: Any) -> Profile:
    """A profile in which only this reading is turned."""
    document: dict[str, Any] = asdict(Profile())
    if probe.reading is not None:
        return parse_profile({**document, "readings": {probe.reading: value}})
    *sections, name = probe.profile.split(".")
    part = document
    for section in sections:
        part = part[section]
    part[name] = value
    return parse_profile(document)
