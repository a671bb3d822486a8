"""Fixtures that somebody saved: any world can be begun with, and a broken one is refused whole."""

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox import library
from sandbox.domain.clock import ClockSetting
from sandbox.domain.profile import parse_profile
from sandbox.store.fixture import FixtureError
from tests.driving import NOW, InProcess, fresh
from tests.state.filling import a_sandbox, looping
from tests.webhooks.calling import delivered

Document = dict[str, Any]


def begun(path: Path | str, **more: Any) -> InProcess:
    return fresh(fixture=str(path), **more)


def write(path: Path, document: Document) -> Path:
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def statuses(sandbox: InProcess) -> list[str]:
    found = sandbox.get("/v2/transactions", by="merchant").json()["transactions"]
    return [one["status"] for one in found]


@pytest.fixture
def friday(tmp_path: Path, sandbox: InProcess) -> Path:
    """A saved demo world with two payments, and a key that is not of the cast."""
    sandbox.paid()
    sandbox.paid(2000)
    sandbox.create_key(name="own", permissions=["all"])
    return write(tmp_path / "friday.json", sandbox.look("snapshot"))


# --- beginning with one -----------------------------------------------------------------------


def test_a_saved_world_is_a_fixture_with_its_clock_and_a_reset_goes_back_to_it(friday):
    sandbox = begun(friday, clock=ClockSetting())

    assert statuses(sandbox) == ["captured", "captured"]
    assert "friday" in sandbox.look("/fixtures")["fixtures"]
    shown = sandbox.manage("GET", "").json()
    assert shown["fixture"] == "friday"
    assert {"partner", "merchant"} <= set(shown["accounts"])
    clock = sandbox.look("clock")
    assert clock == {"now": NOW, "mode": "frozen", "rate": 1.0}

    later = sandbox.paid()
    [*_, told] = sandbox.messages(subject=later["transaction_id"])
    assert len(statuses(sandbox)) == 3
    hook = sandbox.add_endpoint()
    sandbox.reset()
    # The saved world has no endpoint of its own (assumed D25).
    assert sandbox.look("endpoints")["endpoints"] == [hook]
    assert sandbox.manage("GET", f"/messages/{told['id']}").status == 404
    assert len(statuses(sandbox)) == 2
    assert sandbox.paid()["status"] == "captured"


def test_switches_that_it_is_given_come_before_the_saved_ones_and_stay_when_it_is_reset(friday):
    sandbox = begun(friday)
    told = {"batch.settlement": "manual"}
    world = sandbox.add_world("told", fixture="friday", switches=told)
    assert world.look("switches")["batch.settlement"] == "manual"
    world.set_switch("strict_headers", True)

    world.reset()

    switches = world.look("switches")
    assert (switches["batch.settlement"], switches["strict_headers"]) == ("manual", True)


def test_other_worlds_begin_with_it_too_with_their_own_keys_and_continue_alike(friday):
    sandbox = begun(friday)

    one, other = (sandbox.add_world(id, fixture="friday") for id in ("one", "other"))

    assert statuses(other) == statuses(sandbox)
    assert other.key("merchant") != sandbox.key("merchant")
    keys = other.get("/v5/apikeys", by="merchant").json()
    assert "own" not in json.dumps(keys)
    assert one.paid()["transaction_id"] == other.paid()["transaction_id"]


def test_a_payment_whose_request_was_waiting_has_timed_out(tmp_path, sandbox):
    waiting = sandbox.paid(outcome="pending_forever")
    document = sandbox.look("snapshot")
    # As it is in a world that is saved while the processor is asked.
    waits = {"transaction_id": waiting["transaction_id"]}
    document["busy_payments"] = {"0": {"_id": waiting["transaction_id"], **waits}}

    begins = begun(write(tmp_path / "friday.json", document))

    assert statuses(sandbox) == ["pending"]
    assert statuses(begins) == ["error"]
    begins.reset()
    assert statuses(begins) == ["error"]


def test_a_reset_sends_the_webhooks_that_were_due_when_it_was_saved(tmp_path, sandbox):
    sandbox.add_endpoint()
    id = sandbox.emit()
    begins = begun(write(tmp_path / "friday.json", sandbox.look("snapshot")))

    begins.reset()
    delivered(begins, begins.paid)

    (delivery,) = begins.look(f"messages/{id}")["deliveries"]
    assert len(delivery["attempts"]) == 1


def test_keys_that_can_be_read_again_are_those_of_the_profile_in_use(friday):
    prefixes = {"uat": "acme_test", "production": "acme_prod", "legacy": "acme"}
    profile = parse_profile({"key_prefixes": prefixes})

    sandbox = begun(friday, profile=profile)

    id = sandbox.key_id("retrievable")
    shown = sandbox.get(f"/v5/apikeys/{id}", by="merchant").json()
    assert shown["key"] == sandbox.key("retrievable")
    assert shown["key"].startswith("acme_test_")


def test_a_world_that_is_saved_repeatedly_does_not_grow(tmp_path, friday):
    first = begun(friday).look("snapshot")
    second = begun(write(tmp_path / "second.json", first)).look("snapshot")
    third = begun(write(tmp_path / "third.json", second)).look("snapshot")

    assert len(json.dumps(third)) < len(json.dumps(second)) + 100
    assert statuses(begun(write(tmp_path / "fourth.json", third))) == ["captured", "captured"]


def test_a_saved_world_of_another_seed_than_its_fixture_keeps_its_cast(tmp_path, friday):
    first = begun(friday, seed=7)
    second = begun(write(tmp_path / "second.json", first.look("snapshot")), seed=8)

    for sandbox in (first, second, begun("busy", seed=9)):
        before = sandbox.manage("GET", "").json()
        after = sandbox.load(sandbox.saved()).expect(200)

        assert (after["accounts"], after["keys"]) == (before["accounts"], before["keys"])


def test_a_world_that_began_with_a_custom_fixture_can_be_saved_and_begun_with(tmp_path):
    demo = json.loads((library.folder("fixtures") / "demo.json").read_text(encoding="utf-8"))
    demo["accounts"]["5"]["name"] = "Mine"
    mine = begun(write(tmp_path / "mine.json", demo))
    mine.paid()

    sandbox = begun(write(tmp_path / "saved.json", mine.look("snapshot")))

    assert statuses(sandbox) == ["captured"]
    found = sandbox.get(f"/v2/accounts/{sandbox.account_id('merchant')}")
    assert found.json()["name"] == "Mine"


@pytest.mark.parametrize(("fixture", "kind"), [("friday", "json"), ("busy", "db")])
def test_a_kept_world_goes_back_to_it_after_a_restart(tmp_path, friday, fixture, kind):
    path = tmp_path / f"state.{kind}"
    name = str(friday) if fixture == "friday" else fixture
    with looping(a_sandbox(store=path, fixture=name, seed=7)) as sandbox:
        before = sandbox.saved()
        assert sandbox.create_key().status == 201
        assert sandbox.saved() != before

    # The file of the fixture is not needed any more.
    friday.unlink()
    with looping(a_sandbox(store=path)) as sandbox:
        assert sandbox.create_key().status == 201
        sandbox.reset()
        assert sandbox.saved() == before


# --- broken ones ------------------------------------------------------------------------------


def set_in(document: Document, table: str, **fields: Any) -> Document:
    """The document with fields of the table's first document changed."""
    next(iter(document[table].values())).update(fields)
    return document


BREAKS = [
    (lambda it: set_in(it, "transactions", account_id=5), ["transactions", "account_id"]),
    (lambda it: set_in(it, "file", format=99), ["file", "format", "later version"]),
    (lambda it: set_in(it, "world", begins={"fixture": "dmeo"}), ["dmeo", "demo"]),
    (lambda it: set_in(it, "world", begins={}), ["world", "began"]),
    (lambda it: {"file": it["file"]}, ["world"]),
]
"""What else makes no world, a snapshot with it proves."""


def test_a_broken_file_starts_no_server_and_its_place_is_named(friday):
    whole = friday.read_text(encoding="utf-8")
    for break_it, words in BREAKS:
        write(friday, break_it(json.loads(whole)))

        with pytest.raises(FixtureError) as refused:
            begun(friday)

        said = str(refused.value)
        assert [word for word in [str(friday), *words] if word not in said] == [], said


def test_a_state_file_is_not_taken_for_a_saved_world(tmp_path):
    state = tmp_path / "state.json"
    begun("demo", store=state)

    with pytest.raises(FixtureError, match=r"state\.json: is a state file.*--store"):
        begun(state)


def test_a_world_with_an_unusable_scenario_is_not_made_and_takes_no_number(friday):
    document = json.loads(friday.read_text(encoding="utf-8"))
    # No other world takes over this key.
    (own,) = [one for one in document["api_keys"].values() if one["name"] == "own"]
    rule = {"when": {"key": own["id"]}, "then": {"outcome": "approved"}}
    scenario = {"name": "Own key", "rule": [rule]}
    sandbox = begun(write(friday, set_in(document, "world", scenario=scenario)))

    refused = sandbox.control("POST", "/worlds", {"fixture": "friday"})

    assert refused.error() == (400, "faulty_fixture")
    assert "scenario" in refused.json()["details"] or "key" in refused.json()["details"]
    assert sandbox.look("/worlds")["total"] == 1
    assert sandbox.control("POST", "/worlds", {"fixture": "demo"}).json()["id"] == "world-1"
    # And the world that could goes on.
    assert sandbox.paid()["status"] == "captured"


def test_a_reset_to_what_cannot_be_used_changes_nothing(friday):
    """The fixture in a loaded snapshot is only looked at when a reset wants it."""
    began = begun(friday)
    document = began.look("snapshot")
    (fixture,) = document["fixture"].values()
    next(iter(fixture["transactions"].values()))["transaction"]["status"] = "paid"
    sandbox = begun("demo")
    assert sandbox.manage("PUT", "/snapshot", document).status == 200
    sandbox.paid()
    before = statuses(sandbox)

    refused = sandbox.manage("POST", "/reset")

    assert refused.error() == (400, "faulty_fixture")
    assert "transactions" in refused.json()["details"]
    assert statuses(sandbox) == before
    assert len(before) == 3
