"""A saved world opens on any other server, as it was saved or written anew by another program.

What the sandbox wrote itself - durations, times, sums - is never taken for a card number.
Source: assumed 6.4-everywhere.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.driving import Served, serving
from tests.properties import examples

CARD = 4532015112830366


@pytest.fixture(scope="module")
def saving() -> Iterator[Served]:
    with serving() as server:
        yield server


@pytest.fixture(scope="module")
def opening() -> Iterator[Served]:
    """Another process, whose worlds have other seeds."""
    with serving("--seed", "77") as server:
        yield server


def _ok(answer: Any) -> Any:
    assert answer.status_code < 300, answer.text
    return answer.json() if answer.content else None


def _saved(server: Served, year: int, amounts: list[int], seed: int) -> bytes:
    """A world of that year with sales, a refund and a batch, whose webhooks were delivered."""
    # The keys of a world end in 2125.
    body = {"clock": f"{min(year, 2124)}-11-02T10:00:00Z", "seed": seed}
    world = _ok(server.control("POST", "/worlds", json=body))
    path, key = f"/worlds/{world['id']}", world["keys"]["merchant"]["key"]
    endpoint = {"url": "http://receiver.invalid/?answers=500,200"}
    _ok(server.control("POST", f"{path}/endpoints", json=endpoint))
    for amount in amounts:
        sale = {"amount": amount, "terminal_id": world["terminals"]["merchant"]}
        _ok(server.ask("POST", "/v3/payment", key=key, json=sale))
    _ok(server.control("POST", f"{path}/clock/advance", json={"by": "0s"}))
    _ok(server.control("POST", f"{path}/clock/advance", json={"to": f"{year}-12-31T10:00:00Z"}))
    saved = server.control("GET", f"{path}/snapshot").content
    _ok(server.control("DELETE", path))
    return saved


def _state(saved: bytes) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(saved)
    return {
        name: table for name, table in document.items() if name not in ("file", "world", "api_keys")
    }


def _load(server: Served, content: bytes) -> tuple[int, str]:
    answer = server.control("PUT", "/worlds/default/snapshot", content=content)
    return answer.status_code, answer.json().get("message", "")


@pytest.mark.proves("assumed 6.4-everywhere")
@pytest.mark.hypothesis
@settings(
    max_examples=examples(12),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    year=st.sampled_from([2026, 2096, 2097, 2105, 2110, 2116, 2124, 2128]),
    amounts=st.lists(st.integers(100, 90_000), min_size=8, max_size=20),
    seed=st.integers(1, 10_000),
)
def test_any_saved_world_opens_on_another_server(saving, opening, year, amounts, seed):
    saved = _saved(saving, year, amounts, seed)
    rewritten = json.dumps(json.loads(saved), indent=1).encode()

    assert _load(opening, saved) == (200, "")
    assert _load(opening, rewritten) == (200, "")
    again = opening.control("GET", "/worlds/default/snapshot").content
    # Names and keys are those of the world that took the state in.
    assert _state(again) == _state(saved)


def test_durations_are_saved_as_thousandths_of_milliseconds(saving):
    found = json.loads(_saved(saving, 2026, [1000] * 3, 5))["deliveries"].values()

    durations = [one["duration_ms"] for delivery in found for one in delivery["attempts"]]
    assert len(durations) > 5
    assert [one for one in durations if one != round(one, 3)] == []


@pytest.mark.proves("assumed 6.4-everywhere")
@pytest.mark.parametrize("number", [CARD, str(CARD), float(CARD)])
def test_a_card_number_that_a_person_wrote_as_a_number_is_refused_all_the_same(
    saving, opening, number
):
    saved = json.loads(_saved(saving, 2110, [1000], 6))
    records = saved["records"]
    next(iter(records.values()))["body"] = {"anything": [1, number]}

    status, message = _load(opening, json.dumps(saved).encode())

    assert status == 400
    assert "body.anything: a card number is not allowed here" in message
