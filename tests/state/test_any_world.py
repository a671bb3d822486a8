"""Whatever happened in a world, every kind of store keeps it, and any other server opens it.

A world lives through half of a story in a server without a file. Its snapshot goes to servers with
a file, where it lives through the rest; these end and begin again on their files.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec import Struct, field

from sandbox.domain.json_text import DEPTH_MAX
from tests.driving import InProcess, Response, fresh
from tests.properties import examples
from tests.state.filling import looping
from tests.state.saved_worlds import KINDS

NOWS = [f"{year}-03-01T12:00:00.000Z" for year in (2026, 2096, 2124)]
"""Instants of the stories. As a number, a later one has the digits of a card number."""


class Life(Struct):
    """A world on a server, as its client knows it."""

    world: InProcess
    payments: list[str] = field(default_factory=list)
    made: list[str] = field(default_factory=list)

    def ask(self, method: str, path: str, body: Any = ..., key: str = "merchant") -> Any:
        return answered(self.world.ask(method, path, key=key, json_body=body))

    def control(self, method: str, path: str, body: Any = ...) -> Response:
        """An answer of the control API, which is never a mistake of the server."""
        answer = self.world.control(method, f"/worlds/{self.world.world}{path}", body)
        assert answer.status < 500, answer.body
        return answer

    def saved(self) -> bytes:
        """The world's snapshot, once nothing is under way."""
        self.control("POST", "/clock/advance", {"by": "0s"})
        return self.world.saved()


def answered(answer: Response) -> Any:
    """What may be a refusal, and is never a mistake of the server."""
    assert answer.status < 500 or answer.status in (502, 503, 504), answer.body
    return answer.json() if answer.body.startswith(b"{") else {}


Deed = Callable[[Life, int, int], Any]


def _pay(life: Life, which: int, amount: int, operation: str = "sale") -> None:
    more = {"order": "x" * which, "n": [amount, None, 2**70]} if which > 6 else {}
    paid = life.world.pay(amount, operation=operation, additional_details=more)
    if "transaction_id" in (made := answered(paid)):
        life.payments.append(made["transaction_id"])


def _follow(operation: str) -> Deed:
    def follow(life: Life, which: int, number: int) -> None:
        payment = life.payments[which % len(life.payments)]
        answered(life.world.act(payment, operation, **({"amount": number} if which % 2 else {})))

    return follow


def _make(path: str, key: str, **body: Any) -> Deed:
    def make(life: Life, which: int, number: int) -> None:
        owner = life.world.account_id("merchant")
        named = {"name": f"number {number}", "mid": f"m{number}", "tid": f"t{which}"}
        wanted = body | {name: named[name] for name, value in body.items() if value is None}
        made = life.ask("POST", path, wanted | {"account_id": owner}, key)
        if id := made.get("id", made.get("terminal_id")):
            life.made.append(f"{path}/{id}")

    return make


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
    for batch in life.ask("GET", "/v1/batches")["batches"][: which + 1]:
        life.ask("POST", f"/v1/batches/{batch['id']}/close")


def _control(method: str, path: str, body: Any) -> Deed:
    return lambda life, which, number: life.control(method, path, body)


DEEDS: dict[str, Deed] = {
    "sale": lambda life, which, number: _pay(life, which, 100 + number),
    "trigger": lambda life, which, number: _pay(life, which, 900_000 + number % 300),
    "hold": lambda life, which, number: _pay(life, which, 100 + number, "auth"),
    **{name: _follow(name) for name in ("capture", "increment", "refund", "reverse")},
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

Story = list[tuple[str, int, int]]
STORIES = st.lists(
    st.tuples(st.sampled_from(sorted(DEEDS)), st.integers(0, 9), st.integers(1, 9_999)),
    min_size=6,
    max_size=24,
)


def _begun(server: InProcess, seed: int) -> Life:
    life = Life(server.add_world(f"story-{seed}", clock=NOWS[seed % len(NOWS)], seed=seed))
    # Every world has a delivery that failed.
    _carry_out(life, [("endpoint", 0, 1), ("sale", 0, 1)])
    return life


def _carry_out(life: Life, story: Story) -> None:
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


def _comes_back(life: Life, saved: bytes, written: bytes) -> None:
    """The world is loaded as it is written there, and is saved the same, but for its keys."""
    loaded = life.world.load(written)
    assert (loaded.status, loaded.json().get("message")) == (200, None)
    mine = ("world", "api_keys")
    assert _whole(life.saved(), *mine) == _whole(saved, *mine)


@pytest.mark.proves("assumed 6.4-everywhere")
@pytest.mark.hypothesis
@settings(
    max_examples=examples(9),
    # To find a shorter story would live a hundred lives.
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
@given(stories=st.lists(STORIES, min_size=3, max_size=3))
def test_any_world_comes_back_from_every_kind_of_store(tmp_path_factory, stories):
    seeds = range(1, len(stories) + 1)
    with looping(fresh(seed=77)) as memory:
        begun = [_begun(memory, seed) for seed in seeds]
        for life, story in zip(begun, stories, strict=True):
            _carry_out(life, story[::2])
        carried = [life.saved() for life in begun]
        for kind in KINDS:
            path = tmp_path_factory.mktemp("stories") / f"state.{kind}"
            kept = []
            with looping(fresh(store=path)) as server:
                lives = [_begun(server, seed) for seed in seeds]
                for life, before, saved, story in zip(lives, begun, carried, stories, strict=True):
                    _comes_back(life, saved, saved)
                    life.payments += before.payments
                    _carry_out(life, story[1::2])
                    kept.append(life.saved())
            with looping(fresh(store=path)) as server:
                for life, saved in zip(lives, kept, strict=True):
                    for delivery in json.loads(saved).get("deliveries", {}).values():
                        durations = [one["duration_ms"] for one in delivery.get("attempts", ())]
                        assert durations == [round(one, 3) for one in durations]
                    again = replace(server, world=life.world.world).saved()
                    assert _whole(again) == _whole(saved)
            for life, saved in zip(begun, kept, strict=True):
                # As another program writes it anew.
                _comes_back(life, saved, json.dumps(json.loads(saved), indent=1).encode())


def _nested(levels: int) -> Any:
    return [_nested(levels - 1)] if levels else "deep"


@pytest.mark.proves("assumed D46")
@pytest.mark.parametrize("kind", KINDS)
def test_the_deepest_details_that_a_payment_takes_come_back(tmp_path, kind):
    path = tmp_path / f"state.{kind}"
    # The body and the details are levels too.
    deepest = {"order": _nested(DEPTH_MAX - 2)}
    with looping(fresh(store=path)) as server:
        paid = server.pay(additional_details=deepest).json()
        deeper = server.pay(additional_details={"order": _nested(DEPTH_MAX - 1)})
        assert deeper.error() == (400, "validation_error")
        server.load(server.saved()).expect(200)
    with looping(fresh(store=path)) as server:
        assert server.read(paid["transaction_id"])["additional_details"].items() >= deepest.items()
