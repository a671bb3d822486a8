"""The one small machine behind accounts, terminals, locations and credentials: spec 3.4, 6.3."""

from datetime import UTC, datetime

import pytest

from sandbox.domain.directory import (
    DIRECTORIES,
    Account,
    AccountType,
    Credential,
    Location,
    Terminal,
    in_state,
    state_of,
)
from sandbox.domain.events import EVENTS
from sandbox.domain.records import show_all
from sandbox.domain.states import NoSuchStep

BORN = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)

RECORDS = {
    "account": Account(
        id="a", type=AccountType.MERCHANT, name="A", description="", created_at=BORN
    ),
    "terminal": Terminal(terminal_id="t", name="T", account_id="a", created_at=BORN),
    "location": Location(id="l", name="L", account_id="a", created_at=BORN),
    "credential": Credential(id="c", account_id="a", code="482913750264", created_at=BORN),
}

KINDS = {directory.name: directory for directory in DIRECTORIES}

STEPS = [
    ("active", "block", "blocked", "blocked"),
    ("active", "unblock", "active", None),
    ("active", "delete", "deleted", "deleted"),
    ("blocked", "block", "blocked", None),
    ("blocked", "unblock", "active", "unblocked"),
    ("blocked", "delete", "deleted", "deleted"),
]


@pytest.mark.proves("spec 3.4")
def test_four_kinds_of_record_live_this_life():
    assert list(KINDS) == ["account", "terminal", "location", "credential"]


@pytest.mark.proves("spec 3.4-transitions, 3.4-events", "assumed 1.10")
@pytest.mark.parametrize(("state", "trigger", "target", "verb"), STEPS)
@pytest.mark.parametrize("kind", KINDS)
def test_each_step_leads_where_it_should_and_is_announced_unless_it_changes_nothing(
    kind, state, trigger, target, verb
):
    step = KINDS[kind].life.step(state, trigger)

    assert step.target == target
    assert step.event == (f"{kind}.{verb}" if verb else None)


@pytest.mark.proves("assumed 4.7-twice")
@pytest.mark.parametrize("trigger", ["block", "unblock", "delete"])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_leads_out_of_deletion(kind, trigger):
    with pytest.raises(NoSuchStep, match="possible: nothing"):
        KINDS[kind].life.step("deleted", trigger)


@pytest.mark.parametrize("kind", KINDS)
def test_every_event_of_the_machine_is_one_of_the_catalogue(kind):
    fired = {step.event for step in KINDS[kind].life.steps if step.event}

    assert fired <= set(EVENTS)
    assert {f"{kind}.blocked", f"{kind}.unblocked", f"{kind}.deleted"} == fired


@pytest.mark.parametrize("state", ["active", "blocked", "deleted"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_record_that_is_put_into_a_state_is_in_it(kind, state):
    moved = in_state(RECORDS[kind], state, NOW)

    assert state_of(moved) == state


@pytest.mark.proves("spec 3.4-deleted")
@pytest.mark.parametrize("kind", ["account", "terminal", "location"])
def test_a_change_of_state_is_dated(kind):
    blocked = in_state(RECORDS[kind], "blocked", NOW)
    deleted = in_state(blocked, "deleted", NOW)

    assert (blocked.status, blocked.updated_at, blocked.deleted_at) == ("blocked", NOW, None)
    assert (deleted.deleted_at, deleted.created_at) == (NOW, BORN)


@pytest.mark.proves("spec 6.3-credential.deleted", "assumed 1.6-delete")
def test_a_deleted_credential_shows_itself_inactive():
    deleted = in_state(RECORDS["credential"], "deleted", NOW)

    assert show_all(deleted) == {
        "id": "c",
        "account_id": "a",
        "code": "482913750264",
        "pin": "****",
        "is_active": False,
        "created_at": "2026-03-01T12:00:00.000Z",
    }


@pytest.mark.parametrize("kind", ["account", "terminal", "location"])
def test_whatever_it_was_before_a_deleted_record_keeps_its_status(kind):
    blocked = in_state(RECORDS[kind], "blocked", NOW)

    deleted = in_state(blocked, "deleted", NOW)

    assert deleted.status == "blocked"
