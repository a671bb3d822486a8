"""No new record takes the place of an old one, whatever a snapshot says of what was drawn."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.driving import InProcess
from tests.state.filling import a_sandbox, looping

Forge = Callable[[dict[str, Any]], None]


def _without(whole: dict[str, Any]) -> None:
    del next(iter(whole["counters"].values()))["drawn"]


def _lower(whole: dict[str, Any]) -> None:
    next(iter(whole["counters"].values()))["drawn"] -= 256


def _payments(sandbox: InProcess, count: int, named: str) -> list[str]:
    """The ids of so many payments, whose event_ids are the client's."""
    return [sandbox.paid_id(event_id=f"{named}-{number}") for number in range(count)]


def _forge(sandbox: InProcess, forge: Forge) -> None:
    """Load the world's own snapshot after it was changed."""
    whole = sandbox.look("snapshot")
    forge(whole)
    assert sandbox.manage("PUT", "/snapshot", whole).status == 200


@pytest.mark.parametrize(("kind", "forge"), [("json", _without), ("db", _lower)])
def test_no_new_record_replaces_an_old_one_whatever_the_number_of_draws(
    tmp_path: Path, kind: str, forge: Forge
):
    path = tmp_path / f"state.{kind}"
    with looping(a_sandbox(store=path)) as sandbox:
        ids = _payments(sandbox, 5, "before")
        _forge(sandbox, forge)
        ids += _payments(sandbox, 5, "after")
        _forge(sandbox, forge)

    with looping(a_sandbox(store=path)) as sandbox:
        ids += _payments(sandbox, 5, "restarted")

        assert len(set(ids)) == 15
        assert sandbox.get("/v2/transactions", by="psp").json()["total"] == 15
        found = sandbox.look("messages", limit=200)["messages"]
        assert len({one["id"] for one in found}) == len(found)
