"""No new record takes the place of an old one, whatever a snapshot says of what was drawn."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.state.filling import a_sandbox, looping


def _without(counters: dict[str, Any]) -> None:
    del counters["drawn"]


def _lower(counters: dict[str, Any]) -> None:
    counters["drawn"] -= 256


@pytest.mark.parametrize(("kind", "forge"), [("json", _without), ("db", _lower)])
def test_no_new_record_replaces_an_old_one_whatever_the_number_of_draws(
    tmp_path: Path, kind: str, forge: Callable[[dict[str, Any]], None]
):
    path = tmp_path / f"state.{kind}"
    ids: list[str] = []
    with looping(a_sandbox(store=path)) as sandbox:
        for begun in ("before", "after"):
            ids += [sandbox.paid_id(event_id=f"{begun} {number}") for number in range(5)]
            whole = sandbox.look("snapshot")
            forge(*whole["counters"].values())
            sandbox.manage("PUT", "/snapshot", whole).expect(200)

    with looping(a_sandbox(store=path)) as sandbox:
        ids += [sandbox.paid_id(event_id=f"restarted {number}") for number in range(5)]

        assert len(set(ids)) == 15
        assert sandbox.get("/v2/transactions", by="psp").json()["total"] == 15
        found = sandbox.look("messages", limit=200)["messages"]
        assert len({one["id"] for one in found}) == len(found)
