"""No new record takes the place of an old one, whatever a snapshot says of what was drawn."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.driving import InProcess, Response
from tests.state.filling import a_sandbox
from tests.state.looping import a_looping_sandbox
from tests.support.payments import paid

SNAPSHOT = "/_sandbox/worlds/default/snapshot"


def saved(sandbox: InProcess) -> bytes:
    return sandbox.control("GET", "/worlds/default/snapshot").body


def put(sandbox: InProcess, body: bytes) -> Response:
    return sandbox.ask("PUT", SNAPSHOT, body=body)


Forge = Callable[[dict[str, Any]], None]


def _first(whole: dict[str, Any], table: str) -> dict[str, Any]:
    found: dict[str, Any] = next(iter(whole[table].values()))
    return found


def _without(whole: dict[str, Any]) -> None:
    del _first(whole, "counters")["drawn"]


def _lower(whole: dict[str, Any]) -> None:
    _first(whole, "counters")["drawn"] -= 256


def _payments(sandbox: InProcess, count: int, named: str) -> list[str]:
    """The ids of so many payments, whose event_ids are the client's."""
    return [
        str(paid(sandbox, event_id=f"{named}-{number}")["transaction_id"])
        for number in range(count)
    ]


def _message_ids(sandbox: InProcess) -> list[str]:
    found = sandbox.control("GET", "/worlds/default/messages", query="limit=200").json()
    return [one["id"] for one in found["messages"]]


@pytest.mark.parametrize("forge", [_without, _lower])
def test_no_new_record_replaces_an_old_one_whatever_the_number_of_draws(forge: Forge):
    sandbox = a_sandbox()
    before = _payments(sandbox, 5, "before")
    whole = json.loads(saved(sandbox))
    forge(whole)

    assert put(sandbox, json.dumps(whole).encode()).status == 200
    after = _payments(sandbox, 10, "after")

    assert len({*before, *after}) == 15
    assert sandbox.ask("GET", "/v2/transactions", key="psp").json()["total"] == 15
    ids = _message_ids(sandbox)
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("kind", ["json", "db"])
def test_nor_after_a_restart(tmp_path: Path, kind: str):
    path = tmp_path / f"state.{kind}"
    with a_looping_sandbox(store=path) as sandbox:
        before = _payments(sandbox, 5, "before")
        whole = json.loads(saved(sandbox))
        _without(whole)
        assert put(sandbox, json.dumps(whole).encode()).status == 200

    with a_looping_sandbox(store=path) as sandbox:
        after = _payments(sandbox, 10, "after")
        ids = _message_ids(sandbox)
        total = sandbox.ask("GET", "/v2/transactions", key="psp").json()["total"]

    assert (len({*before, *after}), total) == (15, 15)
    assert len(set(ids)) == len(ids)
