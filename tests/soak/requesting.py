"""Requests made up from the documents of both surfaces: right ones, and right ones spoilt."""

import copy
import json
import re
from collections.abc import Callable
from random import Random
from typing import Any
from urllib.parse import quote

from sandbox.control.routes import CONTROL
from sandbox.domain.payments.cards import CARDS
from tests.driving import Response
from tests.soak.client import WAITING, Client, documents, in_process
from tests.soak.making import RESOURCES, WORDS, Known, Maker
from tests.soak.report import Found
from tests.soak.rounds import Round
from tests.soak.spoiling import (
    METHODS,
    SECRETS,
    at,
    odd_headers,
    odd_path,
    odd_query,
    places,
    spoilt,
    spoilt_bytes,
    written,
)
from tests.state.filling import STATES
from tests.support.payments import in_state

STEPS = 250
"""So many requests make a round."""

STREAMS = frozenset(row.name for row in CONTROL if row.is_stream)
RARE = {
    "ledger.read": 0.05,
    "openapi.control": 0.05,
    "openapi.platform": 0.05,
    "coverage.total": 0.2,
    "worlds.reset": 0.15,
    "worlds.create": 0.4,
    "snapshot.read": 0.5,
    "scenario.schema": 0.1,
}
"""What takes long and is always the same, or takes everything away, is asked for less often."""

OFTEN = {"payments.create": 8.0, "payments.preauth": 5.0, "refunds.create": 2.0, "taps.tap": 3.0}
ACTIONS = 2.0
TAKES_AWAY = (".delete", ".delete_v2", ".block", ".clear", ".stop")
SELDOM = 0.25

KEYS = ("psp", "psp", "partner", "partner", "partner", "admin", "merchant", "merchant_read_only")
EXCLUSIVE = {
    "clock.advance": ("by", "to"),
    "taps.tap": ("card", "outcome", "cancel"),
    "payments.create": ("terminal_id", "location_id", "account_id"),
    "payments.preauth": ("terminal_id", "location_id", "account_id"),
}
"""Of these fields a body mostly has one."""

EXAMPLES = 0.3
"""How often a body begins as the document's example."""

SCENARIOS = 0.7
"""How often a scenario is one of the library, by its name, or one of OWN."""

TAPS = 0.2
"""How often one is tapped while a payment waits."""

OWN: list[dict[str, Any]] = [
    {"name": "desk", "rule": [{"then": {"tap": "wait", "times": 3}}]},
    {
        "name": "trouble",
        "rule": [
            {"when": {"nth": 2}, "then": {"fault": "http_503", "times": 2}},
            {"when": {"nth": 3}, "then": {"fault": "drop_after"}},
            {"when": {"nth": 5}, "then": {"fault": "malformed_json", "delay_ms": 100}},
        ],
    },
]


class Requests:
    """Makes up requests for one world, and learns from the answers."""

    def __init__(self, client: Client, dice: Random) -> None:
        self._client, self._dice = client, dice
        self.known = Known()
        platform, control = documents()
        self._operations = [
            (surface, name, method, path, operation)
            for surface in (platform, control)
            for path, item in surface.document["paths"].items()
            for method, operation in item.items()
            for name in [operation["operationId"]]
        ]
        self._weights = [_weight(name, path) for _, name, _, path, _ in self._operations]
        self._makers = {
            id(surface): Maker(surface.document, self.known, dice)
            for surface in (platform, control)
        }
        self.worlds = [client.world]
        self._names = client.control("GET", "/scenarios").json()["scenarios"]
        self._read_cast()
        self._begin()

    def _read_cast(self) -> None:
        view = self._client.control("GET", f"/worlds/{self._client.world}").json()
        for plural in ("accounts", "terminals", "locations"):
            for name, id in view[plural].items():
                self.known.learn(RESOURCES[plural], id)
                self.known.learn("name", name)
        for key in view["keys"].values():
            self.known.learn("key_id", key["id"])

    def _begin(self) -> None:
        """Have some payments in states in which something can be done, and a receiver."""
        for state in self._dice.sample(STATES[:-1], 4):
            self.known.read(in_state(self._client, state))
        url = {"url": self._dice.choice(WORDS["url"])}
        if self._dice.random() < 0.4:
            scenario = self._dice.choice(OWN)
            self._client.control("PUT", f"/worlds/{self._client.world}/scenario", scenario)
        endpoints = f"/worlds/{self._client.world}/endpoints"
        self.known.read(self._client.control("POST", endpoints, url).json(), "endpoints")

    # --- one request

    def next(self) -> Response:
        """One request, and what was learnt from its answer."""
        if self._client.waiting and self._dice.random() < TAPS:
            return self._tap()
        surface, name, method, path, operation = self._dice.choices(
            self._operations, self._weights
        )[0]
        maker = self._makers[id(surface)]
        asked = self._filled(path, operation, maker)
        query = self._query(operation, maker)
        value = self._body(name, operation, maker)
        headers = self._headers(operation, maker, has_body=value is not None)
        method, body = method.upper(), b"" if value is None else written(value)
        how = self._dice.random()
        if how > 0.55:
            method, asked, query, headers, body = self._odd(
                how, method, asked, query, headers, body, value, operation
            )
        if name == "snapshot.restore" and how < 0.8 and self.known.snapshots:
            body = self._dice.choice(self.known.snapshots)
        if name in STREAMS or self._dice.random() < 0.01:
            self._client.leaves_after_s = 40.0
        answer = self._client.ask(method, asked, body=body, headers=headers, query=query)
        self._learn(asked, answer)
        if 200 <= answer.status < 300 and any(one.encode() in body for one in SECRETS):
            _must_keep_no_secret(self._client, self.worlds)
        return answer

    def _tap(self) -> Response:
        """Do something about a payment that waits for its tap."""
        taps = self._client.control("GET", f"/worlds/{self._client.world}/taps").json()["taps"]
        id = self._dice.choice(taps)["transaction_id"] if taps else "nothing"
        bodies = [{"card": self._dice.choice(list(CARDS))}, {"outcome": "do_not_honor"}]
        body = self._dice.choice([*bodies, *bodies, {"cancel": "user"}, {"cancel": "merchant"}])
        return self._client.control("POST", f"/worlds/{self._client.world}/taps/{id}", body)

    def _odd(
        self,
        how: float,
        method: str,
        path: str,
        query: str,
        headers: list[tuple[bytes, bytes]],
        body: bytes,
        value: Any,
        operation: dict[str, Any],
    ) -> tuple[str, str, str, list[tuple[bytes, bytes]], bytes]:
        dice = self._dice
        if how < 0.60 and value is not None:
            body = written(_with_a_secret(value, dice))
        elif how < 0.75 and value is not None:
            for _ in range(dice.choice([1, 1, 2, 4])):
                value = spoilt(value, dice)
            body = written(value)
        elif how < 0.80 and body:
            body = spoilt_bytes(body, dice)
        elif how < 0.87:
            headers = odd_headers(headers, dice)
        elif how < 0.94:
            names = [one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"]
            query = odd_query(query, names, dice)
        elif how < 0.97:
            method = dice.choice(METHODS)
        else:
            path = odd_path(path, dice)
        return method, path, query, headers, body

    def _filled(self, path: str, operation: dict[str, Any], maker: Maker) -> str:
        """The path with ids in it, of the resource that the segment before them names."""

        def fill(match: re.Match[str]) -> str:
            before = path[: match.start()].rstrip("/").rpartition("/")[2]
            if match[1] == "w":
                return self._dice.choice(self.worlds[-3:] + self.worlds[:1] * 3)
            words = self.known.of(RESOURCES.get(before, match[1]))
            if words and self._dice.random() < 0.95:
                # What came last is most likely to be in a state in which something can be done.
                return self._dice.choice(words[-8:] if self._dice.random() < 0.6 else words)
            return self._dice.choice(["nothing", "0", *words[-1:]])

        return re.sub(r"\{(\w+)\}", fill, path)

    def _query(self, operation: dict[str, Any], maker: Maker) -> str:
        likely = self._dice.choice([0.0, 0.1, 0.3])
        pieces = []
        for one in operation.get("parameters", ()):
            if one["in"] != "query" or self._dice.random() >= likely:
                continue
            value = maker.value(one["schema"], one["name"])
            for each in value if isinstance(value, list) else [value]:
                shown = each if isinstance(each, str) else json.dumps(each)
                pieces.append(f"{one['name']}={quote(shown)}")
        return "&".join(pieces)

    def _body(self, name: str, operation: dict[str, Any], maker: Maker) -> Any:
        content = operation.get("requestBody", {}).get("content", {})
        if not content:
            return None
        if name == "scenario.run" and self._dice.random() < SCENARIOS:
            names = [{"name": one["name"]} for one in self._names]
            return copy.deepcopy(self._dice.choice(names + OWN * 5))
        shown = content["application/json"]
        value = maker.value(shown["schema"])
        if "example" in shown and self._dice.random() < EXAMPLES:
            value = copy.deepcopy(shown["example"])
        if name in EXCLUSIVE and self._dice.random() < 0.9:
            several = [one for one in EXCLUSIVE[name] if value.get(one) is not None]
            for one in several[1:]:
                del value[one]
        return value

    def _headers(
        self, operation: dict[str, Any], maker: Maker, *, has_body: bool
    ) -> list[tuple[bytes, bytes]]:
        name = self._dice.choice(KEYS)
        minted = self.known.of("key")
        key = name
        if minted and self._dice.random() < 0.1:
            key = self._dice.choice(minted)
        headers = [
            (b"accept", b"application/json"),
            (self._client.header.encode(), self._client.key(key).encode("latin-1", "replace")),
        ]
        if has_body:
            headers.append((b"content-type", b"application/json"))
        for one in operation.get("parameters", ()):
            if one["in"] == "header" and self._dice.random() < 0.15:
                headers.append((one["name"].encode(), str(maker.value(one["schema"])).encode()))
        return headers

    def _learn(self, path: str, answer: Response) -> None:
        if not 200 <= answer.status < 300 or answer.status == WAITING:
            return
        if path.endswith("/snapshot"):
            if len(self.known.snapshots) < 3:
                self.known.snapshots.append(answer.body)
            return
        if not answer.headers.get("content-type", "").startswith("application/json"):
            return
        if path.startswith(("/_sandbox/openapi", "/_sandbox/platform", "/_sandbox/ledger")):
            return
        try:
            shown = answer.json()
        except ValueError:
            return
        segment = next((one for one in reversed(path.split("/")) if one in RESOURCES), "")
        if path == "/_sandbox/worlds":
            # The list has the keys of all worlds, and one of them may have to be left alone.
            if isinstance(shown, dict) and "keys" in shown:
                self.worlds.append(shown["id"])
            return
        self.known.read(shown, segment)


def _with_a_secret(value: Any, dice: Random) -> Any:
    """The body with a secret in the place of one of its texts."""
    texts = [path for path in places(value) if path and isinstance(at(value, path), str)]
    if not texts:
        return value
    path = dice.choice(texts)
    at(value, path[:-1])[path[-1]] = dice.choice(SECRETS)
    return value


def _weight(name: str, path: str) -> float:
    if name in RARE or name in OFTEN:
        return {**RARE, **OFTEN}[name]
    if name.endswith(TAKES_AWAY):
        return SELDOM
    return ACTIONS if "/payments/" in path else 1.0


def play(round: Round) -> None:
    """A fresh sandbox, and requests of all kinds."""
    with in_process(round, round.random) as client:
        play_requests(client)


def _must_keep_no_secret(client: Client, worlds: list[str]) -> None:
    """Raises Found where a secret that was sent is shown by a world, or would be saved with it."""
    client.ignores_shape = True
    for world in worlds:
        for what in ("snapshot", "messages", "requests", "scenario", "endpoints", "taps", ""):
            shown = client.control("GET", f"/worlds/{world}/{what}".rstrip("/")).body
            for secret in SECRETS:
                # Within a longer run of digits it is no card number.
                if found := re.search(rb"(?<!\d)%b(?!\d)" % re.escape(secret.encode()), shown):
                    around = shown[max(0, found.start() - 150) : found.start() + 60]
                    raise Found(f"{secret!r} is kept, GET /{what} of its world shows\n{around!r}")
    client.ignores_shape = False


def play_requests(
    client: Client, steps: int = STEPS, each: Callable[[int], None] = lambda step: None
) -> None:
    """A round of requests on a client; `each` is called after every one."""
    requests = Requests(client, client.round.dice("requests"))
    for step in client.round.steps(steps):
        requests.next()
        each(step)
    _must_keep_no_secret(client, requests.worlds)
