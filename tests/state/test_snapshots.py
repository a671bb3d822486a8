"""A whole world as one document, and back: byte for byte, or not at all."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox.store.files.port import FORMAT
from tests.driving import fresh
from tests.properties import examples
from tests.state.filling import KEPT_KEY, LISTS, a_sandbox, fill, looping
from tests.support.open_requests import delay, sale

Document = dict[str, Any]


def table(body: bytes, name: str) -> list[Document]:
    """The documents of a table of a snapshot, in their order."""
    return list(json.loads(body)[name].values())


@pytest.fixture(scope="module")
def full() -> bytes:
    """The snapshot of a world that has something of everything."""
    sandbox = a_sandbox()
    fill(sandbox)
    return sandbox.saved()


# --- and back ---------------------------------------------------------------------------------


def test_a_world_with_everything_comes_back_byte_for_byte_however_it_is_written(full: bytes):
    for written in (full, json.dumps(json.loads(full), indent=2).encode()):
        sandbox = a_sandbox()

        sandbox.load(written).expect(200)

        assert sandbox.saved() == full


def test_the_full_world_has_a_row_in_every_table(full: bytes):
    tables = set(json.loads(full))

    assert tables == {
        *("file", "world", "counters", "accounts", "api_keys", "batches", "credentials"),
        *("deliveries", "endpoints", "locations", "messages", "records", "terminals", "timers"),
        *("transactions", "key_usage", "applications"),
    }
    assert {one["kind"] for one in table(full, "timers")} == {
        *("authorization_expires", "surcharge_expires", "key_expires"),
        *("late_answer", "block_terminal", "revoke_key", "batch_closes"),
    }
    statuses = {one.get("status", "pending") for one in table(full, "deliveries")}
    assert statuses >= {"pending", "dropped"}


def test_a_restored_world_is_shown_and_continues_as_before(full: bytes):
    sandbox, other = a_sandbox(), a_sandbox()
    fill(sandbox)

    other.load(full).expect(200)

    # The requests that rules decided are in the journal, which stays with the world.
    sandbox.manage("DELETE", "/requests")
    for path in ("", "/messages", "/endpoints", "/scenario", "/scenario/next", "/switches"):
        shown = [one.manage("GET", path).expect(200) for one in (sandbox, other)]
        assert shown[0] == shown[1], path
    for path in ("/v2/transactions", "/v1/batches", "/v5/apikeys", "/v2/terminals"):
        shown = [one.get(path, by="psp").body for one in (sandbox, other)]
        assert shown[0] == shown[1], path
    for one in (sandbox, other):
        one.paid(56)
        one.paid(2000, operation="auth")
        one.advance("45d")
    assert sandbox.saved() == other.saved()


def test_a_world_at_the_tap_desk_is_saved_with_the_payment_that_waits(sandbox, requests):
    fill(sandbox)
    waiting = requests.open(sale(sandbox, amount=7777))
    before = sandbox.saved()

    sandbox.load(before).expect(200)

    assert sandbox.saved() == before
    assert "tap_expires" in {one["kind"] for one in table(before, "timers")}
    # The request that waited was one to the world that is gone.
    assert (requests.end(waiting).status, requests.taps()) == (404, [])


def test_a_payment_that_waited_for_its_processor_is_restored_as_timed_out(sandbox, requests):
    delay(sandbox, ms=60_000)
    requests.open(sale(sandbox))
    before = sandbox.saved()

    sandbox.load(before).expect(200)

    (pending,) = table(before, "transactions")
    ended = sandbox.read(pending["_id"])
    assert (ended["status"], ended["status_reason"]) == ("error", "timed_out")


# --- into another world -----------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 5])
def test_in_another_world_the_ids_are_the_same_and_the_keys_its_own(full: bytes, seed: int):
    sandbox = a_sandbox()
    other = sandbox.add_world("other", seed=seed)
    keys = {name: other.key(name) for name in ("partner", "psp")}

    view = other.load(full).expect(200)

    once = other.saved()
    assert view["id"] == "other"
    ids = [[one["_id"] for one in table(body, "transactions")] for body in (once, full)]
    assert ids[0] == ids[1]
    assert {name: view["keys"][name]["key"] for name in keys} == keys
    theirs = other.get("/v2/transactions", by=keys["partner"]).json()
    assert theirs["total"] > 0
    assert sandbox.get("/v2/transactions").json()["total"] == 0
    # Keys that are not of its cast are left out.
    before, now = (
        {one["name"]: one.get("readable_key") for one in table(body, "api_keys")}
        for body in (full, once)
    )
    assert KEPT_KEY in before.values()
    assert KEPT_KEY not in now.values()
    assert set(now) < set(before)
    assert other.get("/v2/transactions", by=KEPT_KEY).status == 401
    other.load(once).expect(200)
    assert other.saved() == once
    again = other.manage("POST", "/reset").expect(200)
    assert {name: again["keys"][name]["key"] for name in keys} == keys


def test_a_scenario_is_restored_even_if_a_reset_removed_a_record_that_it_names(tmp_path):
    path = tmp_path / "state.json"
    with looping(fresh(store=path)) as sandbox:
        terminal = sandbox.a_terminal()["terminal_id"]
        rule = {"when": {"terminal": terminal}, "then": {"outcome": "lost_card"}}
        sandbox.manage("PUT", "/scenario", {"name": "there", "rule": [rule]}).expect(200)
        sandbox.manage("POST", "/reset").expect(200)
        sandbox.load(sandbox.saved()).expect(200)
        sandbox.manage("POST", "/fork", {}).expect(201)

    with looping(fresh(store=path)) as sandbox:
        sandbox.manage("POST", "/reset").expect(200)

        # The seed gives the terminal its id again, and the rule goes on.
        assert sandbox.a_terminal()["terminal_id"] == terminal
        assert sandbox.paid(at=terminal)["status"] == "declined"


# --- refused ----------------------------------------------------------------------------------

SECRET = "hunter2-" * 5
CARD = "4761739001010119"


Change = Callable[[Document], Any]


def _first(name: str) -> Change:
    return lambda whole: next(iter(whole[name].values()))


def _of_status(status: str) -> Change:
    return lambda whole: next(
        one for one in whole["transactions"].values() if one["transaction"]["status"] == status
    )


GONE = "(gone)"


def _put_at(at: Any, place: tuple[Any, ...], value: Any) -> None:
    """Change one value of a document; GONE takes out what is there."""
    for step in place[:-1]:
        at = at[step]
    if value == GONE:
        del at[place[-1]]
    else:
        at[place[-1]] = value


def _set(find: str | Change, *path: Any, to: Any) -> Change:
    """A change of one value, in the first document of a table or in the one that is found."""

    def change(whole: Document) -> Document:
        _put_at((_first(find) if isinstance(find, str) else find)(whole), path, to)
        return whole

    return change


def _added(name: str, number: str, document: Any = None) -> Change:
    """A change that adds a document to a table, else its first one again."""

    def change(whole: Document) -> Document:
        whole[name][number] = _first(name)(whole) if document is None else document
        return whole

    return change


def _last_out(name: str) -> Change:
    """A change that takes the last document out of a table."""
    return lambda whole: whole | {name: dict([*whole[name].items()][:-1])}


def _sample(whole: Document) -> Document:
    return next(one for one in whole["records"].values() if "body" in one)


def _false_claims(whole: Document) -> Document:
    """Believed, they would have the payment found by what it does not say."""
    one = _first("transactions")(whole)
    one["_claims"] = [["used_event", one["transaction"]["account_id"], "ANOTHER"]]
    one["transaction"]["subtotal"] = "none"
    return whole


def _table(name: str, to: Any) -> Change:
    return lambda whole: whole | {name: to}


def _written(text: str, instead: str) -> Change:
    """What no program writes, and a person can."""
    return lambda whole: json.dumps(whole).replace(text, instead, 1)


CAPTURED, NO_ONE = _of_status("captured"), "nobody"
REFUSED: list[tuple[Change, str, *tuple[str, ...]]] = [
    (lambda whole: [whole], "object of tables"),
    (lambda whole: {}, "file"),
    (_written('"amount": 4321', '"amount": 1e999'), "the number 1e999 is too large"),
    (_written('"amount": 4321', '"amount": NaN'), "is not JSON"),
    (_written('"accounts":', '"accounts": 1, "accounts":'), 'the key "accounts" occurs more than'),
    (lambda whole: {"accounts": whole["accounts"]}, "file"),
    (_set("file", "program", to="tinydb"), "file"),
    *(
        (_set("file", "format", to=one), f"has format {one!r}", "save the world again with this")
        for one in (0, FORMAT - 1, FORMAT + 1, "1", None)
    ),
    (_table("accounts", [{}]), "accounts", "object"),
    (_table("transactions", 5), "transactions", "object"),
    (_table("terminals", {"1": SECRET}), "terminals", "1", "_id"),
    (_added("terminals", "one"), "terminals", "one", "number"),
    (_added("terminals", "00", {"_id": "a"}), "terminals", "00", "number"),
    (_table("world", {}), "world"),
    (_table("terminal", {}), "terminal: is not a known table", "did you mean 'terminals'?"),
    (_last_out("records"), "records: there is no body of the message msg_"),
    (_last_out("messages"), "records, msg_", "no message with this body"),
    (_set("records", "accounts", "status", to=SECRET), "records", "status"),
    (_set("records", "accounts", to={}), "records, msg_"),
    (_set(_sample, "body", to=["a list"]), "records, msg_", "must be an object, not a list"),
    (_false_claims, "transactions, ", "subtotal"),
    (_set("credentials", "created_at", to=7), "credentials, ", "created_at"),
    (_set("api_keys", "digest", to="\u00e9" * 64), "api_keys, ", "digest"),
    (_set("api_keys", "key", to="shown"), "api_keys", "key"),
    (_set("messages", "event_type", to=5), "messages", "event_type"),
    (_set("messages", "event_type", to="account.made"), "messages", "event_type: must be one of"),
    (_set("messages", "id", to={"a": 1}), "messages", "id: must be text, not an object"),
    (_set("messages", "id", to="msg_0"), "messages", "its id must be"),
    (
        _set("transactions", "transaction", "subtotal", to=SECRET),
        *("transactions", "transaction.subtotal", "whole number", "text"),
    ),
    (_set("transactions", "transaction", "subtotal", to=-5), "transactions", "negative"),
    (_set(CAPTURED, "transaction", "history", to=GONE), "transactions", "transaction.history"),
    (_set(CAPTURED, "ledger", "captured", to=9_999_999), "transactions", "M3"),
    (_set(CAPTURED, "transaction", "status", to="authorized"), "transactions", "M6"),
    (_set(CAPTURED, "transaction", "status", to="declined"), "transactions", "M6"),
    (_set(CAPTURED, "is_partial", to=True), "transactions", "M7"),
    (_set("terminals", "account_id", to=NO_ONE), "terminals", "account_id"),
    (_set("transactions", "transaction", "account_id", to=NO_ONE), "transactions", "account_id"),
    (_set("accounts", "parent_account_ids", to=[NO_ONE]), "accounts", "parent_account_ids"),
    (_set(CAPTURED, "transaction", "batch_id", to=NO_ONE), "transactions", "batch_id"),
    (_set("transactions", "card", to=CARD), "transactions", "card", "a card number"),
    (_set("transactions", "card", to="tok_nobody"), "transactions", "card", "test card"),
    (_set("locations", "colour", to=SECRET), "locations", "colour", "not a known field"),
    (_added("transactions", "1"), "transactions", "once"),
    *((_set(one, "_id", to="other"), one, "other") for one in ("world", "counters", "timers")),
    (_added("timers", "999"), "timers", "twice"),
    (_set("timers", "kind", to="lunch"), "timers", "kind"),
    (_written("America/New_York", "America/Gotham"), "timers, batch_closes/", "detail: zone: "),
    (_set("world", "clock", "now", to="9999-12-31T00:00:00.000Z"), "world", "clock.now"),
    (_set("world", "clock", to={"mode": "running", "rate": 0}), "world", "clock.rate"),
    (_set("world", "switches", to={"lights": True}), "world", "lights"),
    (_set("world", "begins", "fixture", to="atlantis"), "atlantis"),
    (
        _set("world", "scenario", "rule", 0, "then", to={"outcom": "lost_card"}),
        *("world", "rule 1", "outcom"),
    ),
    (
        _set("world", "webhook_faults", to=[{"id": "next_1", "then": {"dropp": True}}]),
        *("world, default: webhook_faults, next_1: ", "then.dropp"),
    ),
    (
        lambda whole: whole | {"endpoints": dict.fromkeys(range(101), _first("endpoints")(whole))},
        "endpoints: has 101, and a world can have at most 100",
    ),
    # Elsewhere too it says only what the API takes.
    (_set("world", "begins", "name", to="n" * 201), ": begins.name: "),
    *(
        (_set("world", "queue", to=[{"outcome": "approved", name: value}]), f": queue.{name}: ")
        for name, value in (
            ("amount", 0),
            ("amount", 100_000_000),
            ("approved_amount", -5),
            ("delay_ms", 3_600_001),
        )
    ),
    *(
        (_set("world", "begins", "generated_data", to=counts), ": begins.generated_data" + named)
        for counts, named in (
            ({"merchants": 10_001}, ".merchants: "),
            ({"merchants": -1}, ".merchants: "),
            ({"merchants": 10_000, "terminals_per_merchant": 6}, ": "),
        )
    ),
    *(
        (_set("transactions", "transaction", name, to=value), f": transaction.{name}: ")
        for name, value in (
            ("tax_rate", -5),
            ("surcharge_rate", 400.0),
            ("surcharge_basis", "nonsense"),
            ("tax_basis", "Total"),
        )
    ),
]


def test_an_unusable_document_is_refused_with_its_place_and_changes_nothing(full: bytes):
    sandbox = a_sandbox()
    sandbox.paid()
    before = sandbox.saved()

    for number, (change, *named) in enumerate(REFUSED):
        changed = change(json.loads(full))
        text = changed if isinstance(changed, str) else json.dumps(changed)
        answer = sandbox.load(text.encode())

        assert answer.error() == (400, "not_restored"), (number, named)
        said = answer.json()["message"]
        assert [word for word in named if word not in said] == [], said
        assert SECRET not in said
        assert CARD not in said
        assert sandbox.saved() == before, (number, named)
    # The keys still lead to the world that was there.
    sandbox.paid()


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
def test_random_input_anywhere_is_refused_or_harmless(full: bytes, data: Any, nonsense: Any):
    whole = json.loads(full)
    place = data.draw(st.sampled_from(list(_places(whole))))
    _put_at(whole, place, nonsense)
    sandbox = a_sandbox()
    before = sandbox.saved()

    answer = sandbox.load(json.dumps(whole).encode())

    if answer.status == 400:
        assert answer.json()["error"] == "not_restored"
        assert len(answer.json()["message"]) < 600
        assert sandbox.saved() == before
        return
    assert answer.status == 200, answer.body
    assert [path for path in LISTS if sandbox.get(path, by="psp").status >= 500] == []
    for path in ("", "/messages", "/endpoints", "/scenario/next", "/clock"):
        sandbox.manage("GET", path).expect(200)
    sandbox.advance("60d")
    assert sandbox.saved() != before
