"""Whatever happened in a world, every kind of store keeps it, and any other server opens it.

A world lives through half of a story in a server without a file. Its snapshot goes to servers with
a file, where it lives through the rest; these are ended and started again on their files.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec import Struct, field

from tests.driving import Served, serving
from tests.properties import examples
from tests.state.saved_worlds import KINDS, serving_saved

NOWS = [f"{year}-03-01T12:00:00.000Z" for year in (2026, 2096, 2124)]
"""Instants of the stories. As a number, a later one has the digits of a card number."""


class Life(Struct):
    """A world on a server, as its client knows it."""

    server: Served
    world: dict[str, Any]
    payments: list[str] = field(default_factory=list)
    made: list[str] = field(default_factory=list)

    @property
    def path(self) -> str:
        return f"/worlds/{self.world['id']}"

    def ask(self, method: str, path: str, body: Any = None, key: str = "merchant") -> Any:
        """An answer that may be a refusal, and is never a mistake of the server."""
        text = self.world["keys"][key]["key"]
        answer = self.server.ask(method, path, key=text, json=body)
        assert answer.status_code < 500 or answer.status_code in (502, 503, 504), answer.text
        return answer.json() if answer.content.startswith(b"{") else {}

    def control(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.server.control(method, f"{self.path}{path}", json=body)
        assert answer.status_code < 500, answer.text
        return answer.json() if answer.content.startswith(b"{") else {}

    def payment(self, which: int) -> str:
        return self.payments[which % len(self.payments)] if self.payments else "none"

    def saved(self) -> bytes:
        """The world's snapshot, once nothing is under way."""
        self.control("POST", "/clock/advance", {"by": "0s"})
        return self.server.control("GET", f"{self.path}/snapshot").content


def _pay(path: str, first: int) -> Callable[[Life, int, int], None]:
    def act(life: Life, which: int, number: int) -> None:
        body = {"amount": first + number, "terminal_id": life.world["terminals"]["merchant"]}
        if which > 6:
            body |= {"additional_details": {"order": "x" * which, "n": [number, None, 2**70]}}
        if "transaction_id" in (made := life.ask("POST", path, body)):
            life.payments.append(made["transaction_id"])

    return act


def _follow(path: str, name: str) -> Callable[[Life, int, int], None]:
    def act(life: Life, which: int, number: int) -> None:
        body = {name: number} if which % 2 else {}
        life.ask("POST", path.format(life.payment(which)), body)

    return act


def _make(path: str, key: str, **body: Any) -> Callable[[Life, int, int], None]:
    def act(life: Life, which: int, number: int) -> None:
        owner = life.world["accounts"]["merchant"]
        named = {"name": f"number {number}", "mid": f"m{number}", "tid": f"t{which}"}
        wanted = body | {name: named[name] for name, value in body.items() if value is None}
        made = life.ask("POST", path, wanted | {"account_id": owner}, key)
        if id := made.get("id", made.get("terminal_id")):
            life.made.append(f"{path}/{id}")

    return act


def _change(life: Life, which: int, number: int) -> None:
    if life.made:
        path = life.made[which % len(life.made)]
        status = {"apikeys": "revoked"}.get(path.split("/")[2], "blocked")
        body = {"name": f"now {number}"} if number % 2 else {"status": status}
        life.ask("PUT", path, body, "psp")


def _remove(life: Life, which: int, number: int) -> None:
    if life.made:
        life.ask("DELETE", life.made.pop(which % len(life.made)), key="psp")


def _close(life: Life, which: int, number: int) -> None:
    for batch in life.ask("GET", "/v1/batches").get("batches", [])[: which + 1]:
        life.ask("POST", f"/v1/batches/{batch['id']}/close")


def _control(method: str, path: str, body: Any) -> Callable[[Life, int, int], None]:
    return lambda life, which, number: life.control(method, path, body)


DEEDS: dict[str, Callable[[Life, int, int], None]] = {
    "sale": _pay("/v3/payment", 100),
    "trigger": lambda life, which, number: _pay("/v3/payment", 900_000)(life, which, number % 300),
    "hold": _pay("/v3/preauth", 100),
    "capture": _follow("/v3/payments/{}/capture", "amount"),
    "increment": _follow("/v3/payments/{}/auth", "amount"),
    "refund": _follow("/v1/payments/{}/refund", "amount"),
    "reverse": _follow("/v1/payments/{}/reverse", "amount"),
    "key": _make("/v5/apikeys", "psp", name=None, permissions=["payments:read"]),
    "terminal": _make(
        "/v2/terminals",
        "partner",
        name=None,
        mid=None,
        tid=None,
        processor_config_id="cfg-pass-001",
    ),
    "location": _make("/v1/locations", "partner", name=None, address={"city": "Łódź"}),
    "credential": _make("/v1/accounts/credentials", "partner"),
    "change": _change,
    "remove": _remove,
    "close": _close,
    "endpoint": _control("POST", "/endpoints", {"url": "http://receiver.invalid/?answers=500"}),
    "next": _control("POST", "/scenario/next", {"outcome": "expired_card", "amount": 55}),
    "switch": _control("PUT", "/switches", {"webhooks.time_scale": 2.5}),
    "reading": _control("PUT", "/readings", {"response_fields": "amounts"}),
    "advance": _control("POST", "/clock/advance", {"by": "3d"}),
}

STORIES = st.lists(
    st.tuples(st.sampled_from(sorted(DEEDS)), st.integers(0, 9), st.integers(1, 9_999)),
    min_size=6,
    max_size=24,
)


def _begun(server: Served, seed: int) -> Life:
    body = {"clock": NOWS[seed % len(NOWS)], "seed": seed, "id": f"story-{seed}"}
    answer = server.control("POST", "/worlds", json=body)
    assert answer.status_code == 201, answer.text
    life = Life(server, answer.json())
    # Every world has a delivery that failed.
    _carry_out(life, [("endpoint", 0, 1), ("sale", 0, 1)])
    return life


def _carry_out(life: Life, story: list[tuple[str, int, int]]) -> None:
    for deed, which, number in story:
        DEEDS[deed](life, which, number)


def _whole(saved: bytes, *left_out: str) -> dict[str, str]:
    """Each table as text, in which 0 and 0.0 differ."""
    document: dict[str, Any] = json.loads(saved)
    return {
        name: json.dumps(table, sort_keys=True)
        for name, table in document.items()
        if name not in ("file", *left_out)
    }


@pytest.mark.proves("assumed 6.4-everywhere")
@pytest.mark.hypothesis
@settings(
    max_examples=examples(3),
    deadline=None,
    # To find a shorter story would start a hundred servers.
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
@given(stories=st.lists(STORIES, min_size=3, max_size=3))
def test_any_world_comes_back_from_every_kind_of_store(tmp_path_factory, stories):
    with serving("--seed", "77") as memory:
        begun = [_begun(memory, seed) for seed, _ in enumerate(stories, 1)]
        for life, story in zip(begun, stories, strict=True):
            _carry_out(life, story[::2])
        carried = [life.saved() for life in begun]
        for kind in KINDS:
            path = tmp_path_factory.mktemp("stories") / f"state.{kind}"
            kept = []
            with serving_saved(path) as server:
                lives = [_begun(server, seed) for seed, _ in enumerate(stories, 1)]
                for life, before, saved, story in zip(lives, begun, carried, stories, strict=True):
                    loaded = server.control("PUT", f"{life.path}/snapshot", content=saved)
                    assert (loaded.status_code, loaded.json().get("message")) == (200, None)
                    life.payments += before.payments
                    assert _whole(life.saved(), "world", "api_keys") == _whole(
                        saved, "world", "api_keys"
                    )
                    _carry_out(life, story[1::2])
                    kept.append(life.saved())
            with serving_saved(path) as server:
                for life, saved in zip(lives, kept, strict=True):
                    for delivery in json.loads(saved).get("deliveries", {}).values():
                        durations = [one["duration_ms"] for one in delivery.get("attempts", ())]
                        assert durations == [round(one, 3) for one in durations]
                    again = server.control("GET", f"{life.path}/snapshot").content
                    assert _whole(again) == _whole(saved)
            for life, saved in zip(begun, kept, strict=True):
                # As another program writes it anew.
                rewritten = json.dumps(json.loads(saved), indent=1).encode()
                loaded = memory.control("PUT", f"{life.path}/snapshot", content=rewritten)
                assert loaded.status_code == 200, loaded.text
                assert _whole(life.saved(), "world", "api_keys") == _whole(
                    saved, "world", "api_keys"
                )
