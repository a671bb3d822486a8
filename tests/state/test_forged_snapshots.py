"""A snapshot is believed where this process has written it, and looked through otherwise.

Source: docs/design/worlds.md.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.driving import InProcess, Response
from tests.state.filling import a_sandbox, fill
from tests.state.looping import a_looping_sandbox
from tests.support.payments import paid

SNAPSHOT = "/_sandbox/worlds/default/snapshot"


@pytest.fixture(scope="module")
def full() -> bytes:
    """The snapshot of a world that has something of everything."""
    sandbox = a_sandbox()
    fill(sandbox)
    return saved(sandbox)


def saved(sandbox: InProcess) -> bytes:
    return sandbox.control("GET", "/worlds/default/snapshot").body


def put(sandbox: InProcess, body: bytes) -> Response:
    return sandbox.ask("PUT", SNAPSHOT, body=body)


Forge = Callable[[dict[str, Any]], None]


def _first(whole: dict[str, Any], table: str) -> dict[str, Any]:
    found: dict[str, Any] = next(iter(whole[table].values()))
    return found


def _unreadable_record(whole: dict[str, Any]) -> None:
    record = _first(whole, "records")
    record.update({"_id": record["_id"], "accounts": {}})


def _unreadable_account(whole: dict[str, Any]) -> None:
    _first(whole, "accounts")["type"] = "emperor"


def _false_claims(whole: dict[str, Any]) -> None:
    # Believed, they would have the payment found by what it does not say.
    one = _first(whole, "transactions")
    one["_claims"] = [["used_event", one["transaction"]["account_id"], "ANOTHER"]]
    one["transaction"]["subtotal"] = "none"


def _unreadable_credential(whole: dict[str, Any]) -> None:
    _first(whole, "credentials")["created_at"] = 7


def _digest_that_is_none(whole: dict[str, Any]) -> None:
    for key in whole["api_keys"].values():
        key["digest"] = "\u00e9" * 64


@pytest.mark.parametrize(
    ("forge", "named"),
    [
        (_unreadable_record, ("records, msg_",)),
        (_unreadable_account, ("accounts, ", "type")),
        (_false_claims, ("transactions, ", "subtotal")),
        (_unreadable_credential, ("credentials, ", "created_at")),
        (_digest_that_is_none, ("api_keys, ", "digest")),
    ],
)
def test_a_forged_snapshot_is_refused_with_the_place_of_the_mistake(
    full: bytes, forge: Forge, named: tuple[str, ...]
):
    whole = json.loads(full)
    forge(whole)
    sandbox = a_sandbox()
    before = saved(sandbox)

    answer = put(sandbox, json.dumps(whole).encode())

    assert (answer.status, answer.json()["error"]) == (400, "not_restored")
    assert [word for word in named if word not in answer.json()["message"]] == []
    assert saved(sandbox) == before


# --- the number of draws ----------------------------------------------------------------------


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


def test_a_snapshot_says_nothing_of_where_it_came_from(full: bytes):
    sandbox = a_sandbox()
    put(sandbox, json.dumps(json.loads(full)).encode())

    assert saved(sandbox) == full
