"""A whole world as one document, and back: byte for byte, or not at all."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.driving import InProcess
from tests.payments.tapping import at_desk, taps
from tests.payments.waits import sale
from tests.platform.minting import mint
from tests.properties import examples
from tests.state.filling import KEPT_KEY, a_sandbox, control, fill, ok
from tests.support.payments import (
    ask_on_loop,
    paid,
    read,
    turns,
    until_busy,
)
from tests.worlds.worlds import add_world

SNAPSHOT = "/_sandbox/worlds/{}/snapshot"
Document = dict[str, Any]


def saved(sandbox: InProcess) -> bytes:
    answer = sandbox.control("GET", f"/worlds/{sandbox.world}/snapshot")
    assert answer.status == 200, answer.body
    return answer.body


def put(sandbox: InProcess, body: bytes):
    return sandbox.ask("PUT", SNAPSHOT.format(sandbox.world), body=body)


def restored(sandbox: InProcess, body: bytes) -> Any:
    return ok(put(sandbox, body))


def table(body: bytes, name: str) -> list[Document]:
    """The documents of a table of a snapshot, in their order."""
    return list(json.loads(body)[name].values())


@pytest.fixture(scope="module")
def full() -> bytes:
    """The snapshot of a world that has something of everything."""
    sandbox = a_sandbox()
    fill(sandbox)
    return saved(sandbox)


# --- and back ---------------------------------------------------------------------------------


def test_a_world_with_everything_comes_back_byte_for_byte(full: bytes):
    sandbox = a_sandbox()

    restored(sandbox, full)

    assert saved(sandbox) == full


def test_a_snapshot_that_was_rewritten_by_another_program_comes_back_as_well(full: bytes):
    sandbox = a_sandbox()

    restored(sandbox, json.dumps(json.loads(full), indent=2).encode())

    assert saved(sandbox) == full


def test_the_full_world_has_something_in_every_table(full: bytes):
    tables = set(json.loads(full))

    assert tables == {
        *("file", "world", "counters", "accounts", "api_keys", "batches", "credentials"),
        *("deliveries", "endpoints", "locations", "messages", "records", "terminals", "timers"),
        *("transactions", "key_usage", "applications"),
    }
    assert {one["kind"] for one in table(full, "timers")} == {
        *("authorization_expires", "surcharge_expires", "key_expires"),
        *("late_answer", "block_terminal", "revoke_key"),
    }
    assert {one.get("status", "pending") for one in table(full, "deliveries")} >= {
        "pending",
        "dropped",
    }


def test_what_is_shown_of_a_world_is_the_same_after_it_came_back(full: bytes):
    sandbox, other = a_sandbox(), a_sandbox()
    fill(sandbox)

    restored(other, full)

    # The requests that rules decided are in the journal, which stays with the world.
    sandbox.control("DELETE", "/worlds/default/requests")
    for path in ("", "/messages", "/endpoints", "/scenario", "/scenario/next", "/switches"):
        assert control(other, "GET", path) == control(sandbox, "GET", path), path
    for path in ("/v2/transactions", "/v1/batches", "/v5/apikeys", "/v2/terminals"):
        shown = [one.ask("GET", path, key="psp").body for one in (sandbox, other)]
        assert shown[0] == shown[1], path


def test_a_world_goes_on_the_same_after_it_came_back(full: bytes):
    sandbox, other = a_sandbox(), a_sandbox()
    fill(sandbox)
    restored(other, full)

    for one in (sandbox, other):
        paid(one, 56)
        paid(one, 2000, operation="auth")
        control(one, "POST", "/clock/advance", {"by": "45d"})

    assert saved(sandbox) == saved(other)


def test_a_world_at_the_tap_desk_is_saved_with_the_payment_that_waits():
    sandbox = a_sandbox()
    fill(sandbox)

    async def story() -> tuple[bytes, bytes, int, list[Any]]:
        waiting = await at_desk(sandbox, sale(sandbox, amount=7777))
        before = (await ask_on_loop(sandbox, "GET", SNAPSHOT.format("default"))).body
        answer = await _put(sandbox, before)
        assert answer == 200
        after = (await ask_on_loop(sandbox, "GET", SNAPSHOT.format("default"))).body
        return before, after, (await waiting).status, await taps(sandbox)

    before, after, status, at_the_desk = asyncio.run(story())

    assert after == before
    assert "tap_expires" in {one["kind"] for one in table(after, "timers")}
    # The request that waited belonged to the world that is gone; nobody waits for the tap now.
    assert (status, at_the_desk) == (404, [])


async def _put(sandbox: InProcess, body: bytes) -> int:
    """The status of a restoring while other requests wait."""
    answer = await ask_on_loop(sandbox, "PUT", SNAPSHOT.format("default"), json.loads(body))
    return answer.status


def test_a_payment_that_waited_for_its_processor_gets_404_and_ends_in_the_world_that_came_back():
    sandbox = a_sandbox()
    control(sandbox, "POST", "/scenario/next", {"outcome": "approved", "delay_ms": 60_000})

    async def story() -> tuple[str, int]:
        waiting = asyncio.create_task(ask_on_loop(sandbox, *sale(sandbox)))
        await until_busy(sandbox)
        before = (await ask_on_loop(sandbox, "GET", SNAPSHOT.format("default"))).body
        (pending,) = table(before, "transactions")
        assert await _put(sandbox, before) == 200
        await turns()
        done = waiting.done()
        waiting.cancel()
        return pending["_id"], done

    id, _ = asyncio.run(story())

    assert (read(sandbox, id)["status"], read(sandbox, id)["status_reason"]) == (
        "error",
        "timed_out",
    )


# --- into another world -----------------------------------------------------------------------


def test_in_another_world_the_ids_are_the_same_and_the_keys_its_own(full: bytes):
    sandbox = a_sandbox()
    other = add_world(sandbox, "other")
    keys = {name: control(other, "GET", "")["keys"][name]["key"] for name in ("partner", "psp")}

    view = restored(other, full)

    assert view["id"] == "other"
    assert [one["_id"] for one in table(saved(other), "transactions")] == [
        one["_id"] for one in table(full, "transactions")
    ]
    assert {name: view["keys"][name]["key"] for name in keys} == keys
    theirs = other.ask("GET", "/v2/transactions", key=keys["partner"]).json()
    assert theirs["total"] > 0
    assert sandbox.ask("GET", "/v2/transactions", key="partner").json()["total"] == 0


def test_in_another_world_keys_that_are_not_of_its_cast_are_left_out(full: bytes):
    sandbox = a_sandbox()
    other = add_world(sandbox, "other")

    restored(other, full)

    kept = {one.get("readable_key") for one in table(full, "api_keys")}
    assert KEPT_KEY in kept
    assert KEPT_KEY not in {one.get("readable_key") for one in table(saved(other), "api_keys")}
    assert {one["name"] for one in table(saved(other), "api_keys")} < {
        one["name"] for one in table(full, "api_keys")
    }
    assert other.ask("GET", "/v2/transactions", key=KEPT_KEY).status == 401


def test_a_snapshot_of_another_world_comes_back_there_byte_for_byte(full: bytes):
    sandbox = a_sandbox()
    other = add_world(sandbox, "other")
    restored(other, full)
    once = saved(other)

    restored(other, once)

    assert saved(other) == once


# --- refused ----------------------------------------------------------------------------------

SECRET = "hunter2-" * 5


def _first(name: str) -> Callable[[Document], Document]:
    return lambda whole: next(iter(whole[name].values()))


def _of_status(status: str) -> Callable[[Document], Document]:
    def found(whole: Document) -> Document:
        return next(
            one for one in whole["transactions"].values() if one["transaction"]["status"] == status
        )

    return found


def changed(find: Callable[[Document], Document], *path: Any, to: Any) -> Callable[[Document], Any]:
    def change(whole: Document) -> Document:
        at = find(whole)
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = to
        return whole

    return change


def _without_a_record(whole: Document) -> Document:
    whole["records"].pop(next(iter(whole["records"])))
    return whole


def _a_duplicate(whole: Document) -> Document:
    whole["transactions"]["1"] = _first("transactions")(whole)
    return whole


def _a_timer_twice(whole: Document) -> Document:
    whole["timers"]["999"] = _first("timers")(whole)
    return whole


def _a_record_of_nothing(whole: Document) -> Document:
    record = _first("records")(whole)
    record["accounts"] = {}
    return whole


def _false_claims(whole: Document) -> Document:
    """Believed, they would have the payment found by what it does not say."""
    one = _first("transactions")(whole)
    one["_claims"] = [["used_event", one["transaction"]["account_id"], "ANOTHER"]]
    one["transaction"]["subtotal"] = "none"
    return whole


def _table(name: str, to: Any) -> Callable[[Document], Any]:
    return lambda whole: whole | {name: to}


REFUSED: dict[str, tuple[Callable[[Document], Any], tuple[str, ...]]] = {
    "a list": (lambda whole: [whole], ("object of tables",)),
    "nothing": (lambda whole: {}, ("file",)),
    "a fixture": (lambda whole: {"accounts": whole["accounts"]}, ("file",)),
    "of another program": (changed(_first("file"), "program", to="tinydb"), ("file",)),
    "of a later format": (changed(_first("file"), "format", to=99), ("file", "99")),
    "a table that is a list": (_table("accounts", [{}]), ("accounts", "object")),
    "a table that is a number": (_table("transactions", 5), ("transactions", "object")),
    "a document that is a text": (
        lambda whole: whole | {"terminals": {"1": SECRET}},
        ("terminals", "1", "_id"),
    ),
    "a number that is none": (
        lambda whole: whole | {"terminals": {"one": _first("terminals")(whole)}},
        ("terminals", "one", "number"),
    ),
    "a number in another spelling": (
        lambda whole: whole | {"terminals": whole["terminals"] | {"00": {"_id": "a"}}},
        ("terminals", "00", "number"),
    ),
    "without the world itself": (_table("world", {}), ("world",)),
    "a message without what it says": (_without_a_record, ("records",)),
    "a message that says what cannot be read": (
        changed(_first("records"), "accounts", "status", to=SECRET),
        ("records", "status"),
    ),
    "a message that says nothing": (_a_record_of_nothing, ("records, msg_",)),
    "claims": (_false_claims, ("transactions, ", "subtotal")),
    "a moment that is a number": (
        changed(_first("credentials"), "created_at", to=7),
        ("credentials, ", "created_at"),
    ),
    "a digest that is none": (
        changed(_first("api_keys"), "digest", to="\u00e9" * 64),
        ("api_keys, ", "digest"),
    ),
    "a key with the plaintext to show": (
        changed(_first("api_keys"), "key", to="shown"),
        ("api_keys", "key"),
    ),
    "a message without a type": (
        changed(_first("messages"), "event_type", to=5),
        ("messages", "event_type"),
    ),
    "a message whose id is an object": (
        changed(_first("messages"), "id", to={"a": 1}),
        ("messages", "id: must be text, not an object"),
    ),
    "a message with the id of another": (
        changed(_first("messages"), "id", to="msg_0"),
        ("messages", "its id must be"),
    ),
    "an amount that is a text": (
        changed(_first("transactions"), "transaction", "subtotal", to=SECRET),
        ("transactions", "transaction.subtotal", "whole number", "text"),
    ),
    "an amount that is negative": (
        changed(_first("transactions"), "transaction", "subtotal", to=-5),
        ("transactions", "negative"),
    ),
    "more captured than held": (
        changed(_of_status("captured"), "ledger", "captured", to=9_999_999),
        ("transactions", "M3"),
    ),
    "a status that the money does not fit": (
        changed(_of_status("captured"), "transaction", "status", to="authorized"),
        ("transactions", "M6"),
    ),
    "an account that is not there": (
        changed(_first("terminals"), "account_id", to="nobody"),
        ("terminals", "account_id"),
    ),
    "a payment of an account that is not there": (
        changed(_first("transactions"), "transaction", "account_id", to="nobody"),
        ("transactions", "account_id"),
    ),
    "a parent that is not there": (
        changed(_first("accounts"), "parent_account_ids", to=["nobody"]),
        ("accounts", "parent_account_ids"),
    ),
    "a batch that is not there": (
        changed(_of_status("captured"), "transaction", "batch_id", to="nothing"),
        ("transactions", "batch_id"),
    ),
    "a card number": (
        changed(_first("transactions"), "card", to="4761739001010119"),
        ("transactions", "card", "a card number"),
    ),
    "a test card that there is not": (
        changed(_first("transactions"), "card", to="tok_nobody"),
        ("transactions", "card", "test card"),
    ),
    "an unknown field": (
        changed(_first("locations"), "colour", to=SECRET),
        ("locations", "colour", "not a field"),
    ),
    "an id twice": (_a_duplicate, ("transactions", "once")),
    **{
        f"another id in {table}": (changed(_first(table), "_id", to="other"), (table, "other"))
        for table in ("world", "counters", "timers")
    },
    "a timer twice": (_a_timer_twice, ("timers", "twice")),
    "a timer of an unknown kind": (
        changed(_first("timers"), "kind", to="lunch"),
        ("timers", "kind"),
    ),
    "a clock that stands nowhere": (
        changed(_first("world"), "clock", "now", to="9999-12-31T00:00:00.000Z"),
        ("world", "clock.now"),
    ),
    "a clock that never moves on": (
        changed(_first("world"), "clock", to={"mode": "running", "rate": 0}),
        ("world", "clock.rate"),
    ),
    "an unknown switch": (
        changed(_first("world"), "switches", to={"lights": True}),
        ("world", "lights"),
    ),
    "a fixture that is not there": (
        changed(_first("world"), "begins", "fixture", to="atlantis"),
        ("atlantis",),
    ),
    "a scenario with an unknown word": (
        changed(_first("world"), "scenario", "rule", 0, "then", to={"outcom": "lost_card"}),
        ("world", "rule 1", "outcom"),
    ),
    "an endpoint without a secret": (
        changed(_first("endpoints"), "secret", to=""),
        ("endpoints", "secret"),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_makes_no_world_is_refused_with_its_place_and_changes_nothing(full: bytes, case: str):
    change, named = REFUSED[case]
    sandbox = a_sandbox()
    paid(sandbox)
    before = saved(sandbox)

    answer = put(sandbox, json.dumps(change(json.loads(full))).encode())

    assert (answer.status, answer.json()["error"]) == (400, "not_restored"), answer.body
    said = answer.json()["message"]
    assert [word for word in named if word not in said] == [], said
    assert SECRET not in said
    assert "4761739001010119" not in said
    assert saved(sandbox) == before
    # The keys still lead to the world that was there.
    paid(sandbox)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff", b"[" * 100_000, b'{"a":NaN}', b"9" * 5_000], ids=repr
)
def test_what_is_not_json_is_refused(body: bytes):
    sandbox = a_sandbox()
    before = saved(sandbox)

    answer = put(sandbox, body)

    assert (answer.status, answer.json()["error"]) == (400, "not_restored")
    assert saved(sandbox) == before


# --- whatever somebody writes into it ---------------------------------------------------------

GONE = "(gone)"
NONSENSE = st.sampled_from(
    [
        *(GONE, None, "", "x", -1, 0, 1.5, 10**30, True, [], [1], ["x"], {}, {"a": 1}),
        *("9999-12-31T23:59:59.000Z", "0001-01-01T00:00:00.000Z", "9" * 5_000),
    ]
)


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a document, in the first of each table and of each list."""
    if place:
        yield place
    if isinstance(value, dict):
        names = list(value)[:1] if len(place) == 1 else value
        for name in names:
            yield from _places(value[name], (*place, name))
    elif isinstance(value, list) and value:
        yield from _places(value[0], (*place, 0))


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), nonsense=NONSENSE)
def test_nonsense_anywhere_is_refused_or_harmless(full: bytes, data: Any, nonsense: Any):
    whole = json.loads(full)
    place = data.draw(st.sampled_from(list(_places(whole))))
    at = whole
    for step in place[:-1]:
        at = at[step]
    if nonsense == GONE:
        del at[place[-1]]
    else:
        at[place[-1]] = nonsense
    sandbox = a_sandbox()
    before = saved(sandbox)

    answer = put(sandbox, json.dumps(whole).encode())

    if answer.status == 400:
        assert answer.json()["error"] == "not_restored"
        assert len(answer.json()["message"]) < 600
        assert saved(sandbox) == before
        return
    assert answer.status == 200, answer.body
    assert [path for path in LISTS if sandbox.ask("GET", path, key="psp").status >= 500] == []
    for path in ("", "/messages", "/endpoints", "/scenario/next", "/clock"):
        control(sandbox, "GET", path)
    control(sandbox, "POST", "/clock/advance", {"by": "60d"})
    assert saved(sandbox) != before


LISTS = ("/v2/transactions", "/v1/batches", "/v5/apikeys", "/v2/terminals", "/v1/locations")


def test_a_key_that_can_be_read_again_stands_with_the_key_and_nowhere_else(sandbox):
    # assumed D26.
    own = "svc_uat_Brought00000_" + "B" * 32
    field = sandbox.sandbox.worlds.profile.supplied_key_field
    mint(sandbox, ["payments:read"], by="merchant", always_retrievable=True, **{field: own})

    kept = sandbox.control("GET", "/worlds/default/snapshot").body.decode()

    assert kept.count(own) == kept.count(f'"readable_key":"{own}"') == 1
