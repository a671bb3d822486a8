"""The operator's surface: worlds, their copies and marks, clocks, switches, helpful refusals."""

import asyncio
from typing import Any

import pytest

from sandbox.control import ledger
from tests.control.refusals import assert_refused
from tests.driving import NOW, InProcess, Response, fresh
from tests.support.caller import turns


def create(sandbox: InProcess, **body: Any) -> Response:
    return sandbox.control("POST", "/worlds", body)


# --- worlds -----------------------------------------------------------------------------------


def test_a_world_is_shown_with_its_cast_listed_read_and_deleted(sandbox):
    world = create(sandbox, id="mine", name="Mine", seed=7, clock=NOW).expect(201)

    assert (world["id"], world["name"], world["seed"]) == ("mine", "Mine", 7)
    assert (world["fixture"], world["scenario"]) == ("demo", None)
    assert world["clock"] == {"now": NOW, "mode": "frozen", "rate": 1.0}
    listed = sandbox.look("/worlds")
    assert [one["id"] for one in listed["worlds"]] == ["default", "mine"]
    assert (listed["total"], listed["worlds"][1] | {"endpoints": []}) == (2, world)
    assert sandbox.look("/worlds/mine") == listed["worlds"][1]
    deleted = sandbox.control("DELETE", "/worlds/mine")
    assert (deleted.status, deleted.body) == (204, b"")
    assert sandbox.look("/worlds")["total"] == 1
    assert_refused(sandbox.control("GET", "/worlds/mine"), 404, "unknown_world")
    assert_refused(sandbox.manage("DELETE", ""), 409, "protected")


def test_a_world_needs_nothing_and_gets_the_defaults(sandbox):
    world = sandbox.control("POST", "/worlds").expect(201)

    assert (world["id"], world["name"], world["seed"]) == ("world-1", "", 1)
    assert (world["fixture"], world["clock"]["mode"]) == ("demo", "running")
    # The seed of the server is that of worlds that name none.
    assert create(fresh(seed=42)).json()["seed"] == 42


@pytest.mark.proves("assumed D21")
def test_a_world_can_have_another_fixture_clock_seed_and_switches(sandbox):
    frozen = {"now": "2030-01-01T00:00:00.000Z", "mode": "frozen", "rate": 1.0}
    begun = {"fixture": "empty", "seed": 0, "clock": frozen["now"]}

    created = create(sandbox, id="mine", switches={"strict_headers": True}, **begun).json()

    assert (list(created["keys"]), created["seed"]) == (["admin"], 0)
    assert created["clock"] == frozen
    assert create(sandbox, clock=frozen | {"rate": 60}).json()["clock"] == frozen | {"rate": 60.0}
    assert sandbox.look("/worlds/mine/switches")["strict_headers"] is True
    assert sandbox.look("switches")["strict_headers"] is False


@pytest.mark.proves("assumed D25")
def test_a_world_is_created_with_its_endpoints(sandbox):
    url = "http://127.0.0.1:9/hook"
    endpoints = [{"id": "ours", "url": url}, {"url": url, "account_id": "partner"}]

    made = create(sandbox, id="hooked", scenario="duplicate_event", endpoints=endpoints)

    first, second = sandbox.look("/worlds/hooked/endpoints")["endpoints"]
    assert (first["id"], first["url"], first["account_id"]) == ("ours", url, None)
    assert made.expect(201)["endpoints"] == [first, second], "with their secrets"
    partner = made.json()["accounts"]["partner"]
    assert (second["url"], second["account_id"]) == (url, partner)


@pytest.mark.proves("assumed D25")
def test_a_body_that_is_not_an_object_makes_no_world(sandbox):
    bodies = [b"[]", b"5", b"null", b"{", b"\xff", b'{"id":"a","id":"b"}', b'{"seed":NaN}']
    for body in (*bodies, b"[" * 100_000):
        answer = sandbox.ask("POST", "/_sandbox/worlds", body=body)
        assert_refused(answer, 400, "validation_error")

    assert sandbox.look("/worlds")["total"] == 1


# --- what takes long --------------------------------------------------------------------------

MANY = "transaction_id,amount\n" + "".join(f"tx-{number},1\n" for number in range(5_000))


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/ledger", None),
        ("GET", "/openapi.json", None),
        ("GET", "/platform/openapi.json", None),
        ("POST", "/worlds/default/reconciliation", {"text": MANY}),
        ("GET", "/worlds/default/batches/{batch_id}", None),
    ],
    ids=["the ledger", "a document", "the platform's document", "a large file", "a batch"],
)
def test_other_requests_are_answered_while_one_takes_long(method, path, body):
    # Of no other test: what was read once is remembered.
    sandbox = fresh(seed=20261127)
    path = path.format(batch_id=sandbox.pay().json()["batch_id"])
    for remembered in (ledger._clauses, ledger.tests_by_clause, ledger.marks):
        remembered.cache_clear()

    async def ask_both():
        long = asyncio.create_task(sandbox.control_on_loop(method, path, body))
        await turns(2)
        health = await sandbox.control_on_loop("GET", "/health")
        return health.status, long.done(), (await long).status

    assert asyncio.run(ask_both()) == (200, False, 200)


def test_other_requests_are_answered_while_a_large_body_is_searched_for_secrets(sandbox):
    create(sandbox, id="mine").expect(201)
    changes = {"event_type": "transaction.sale", "changes": {"note": "4-" * 400_000}}

    async def send_both():
        first, second = (
            asyncio.create_task(sandbox.control_on_loop("POST", f"/worlds/{id}/messages", changes))
            for id in ("default", "mine")
        )
        await turns(2)
        health = await sandbox.control_on_loop("GET", "/health")
        sandbox.control("DELETE", "/worlds/mine").expect(204)
        is_done = first.done() or second.done()
        return health, is_done, await first, await second

    health, is_done, first, second = asyncio.run(send_both())

    assert (health.status, is_done, first.status) == (200, False, 202)
    assert_refused(second, 404, "unknown_world")


# --- clocks and switches ----------------------------------------------------------------------


def test_a_clock_can_be_set_to_either_of_its_bounds_and_the_platform_still_answers(sandbox):
    key = {"name": "x", "permissions": ["all"]}
    for instant, status in (("1970-01-01T00:00:00.000Z", 201), ("9000-01-01T00:00:00.000Z", 401)):
        sandbox.set_clock(instant)

        assert sandbox.look("clock")["now"] == instant
        assert sandbox.post("/v5/apikeys", key, by="admin").status == status


@pytest.mark.proves("assumed 10, D8, D25")
def test_each_switch_has_its_other_values_which_stay_and_leaves_the_rest_alone(sandbox):
    now = sandbox.look("switches")
    for change in (
        {"strict_headers": True},
        {"refund.partial_status": "refunded"},
        {"idempotency.duplicate": "replay"},
        {"lifecycle.rule_failures": "http_200"},
        {"triggers.enabled": False},
        {"latency.scale": 0.25},
        {"latency.scale": 10},
        {"webhooks.time_scale": 0},
        {"webhooks.time_scale": 0.001},
        {"quota.per_second": 5},
        {"quota.per_minute": 100},
        {"webhooks.timestamp": "world"},
        {"batch.settlement": "manual"},
        {},
    ):
        now = now | change

        assert sandbox.manage("PUT", "/switches", change).expect(200) == now
        assert sandbox.look("switches") == now
    sandbox.reset()
    assert sandbox.look("switches") == now


def mark(sandbox, name=""):
    return sandbox.manage("POST", "/marks", {"name": name}).expect(201)


@pytest.mark.proves("assumed D25")
def test_a_world_returns_to_its_mark_any_number_of_times(sandbox):
    id = sandbox.paid_id(operation="auth")
    first = mark(sandbox, "before")

    for _ in range(2):
        sandbox.advance("30d")
        assert sandbox.read(id)["status"] == "canceled"
        answer = sandbox.manage("POST", f"/marks/{first['id']}/return")
        assert answer.json()["clock"]["now"] == first["now"] == "2026-03-01T12:00:00.000Z"
        assert sandbox.read(id)["status"] == "authorized"

    assert sandbox.look("marks") == {"marks": [first], "total": 1}
    sandbox.reset()
    sandbox.manage("POST", f"/marks/{first['id']}/return")
    assert sandbox.read(id)["status"] == "authorized"


def test_ten_marks_are_kept_and_one_can_be_removed(sandbox):
    ids = [mark(sandbox)["id"] for _ in range(12)]

    kept = [one["id"] for one in sandbox.look("marks")["marks"]]

    assert kept == ids[2:]
    sandbox.manage("DELETE", f"/marks/{kept[3]}").expect(204)
    assert sandbox.look("marks")["total"] == 9
    sandbox.manage("DELETE", f"/marks/{ids[-1]}")
    assert mark(sandbox)["id"] not in ids
    for method, path in (("DELETE", kept[3]), ("POST", f"{ids[0]}/return")):
        assert_refused(sandbox.manage(method, f"/marks/{path}"), 404, "not_found")


# --- copies -----------------------------------------------------------------------------------


@pytest.mark.proves("assumed D25")
def test_a_copy_has_the_same_data_and_changes_alone(sandbox):
    id = sandbox.paid_id(operation="auth")
    names = {"id": "copy", "name": "A copy"}

    answer = sandbox.manage("POST", "/fork", names)
    numbered = sandbox.manage("POST", "/fork")
    copy = InProcess(sandbox.sandbox, world="copy")
    copy.advance("30d")

    assert answer.status == numbered.status == 201
    assert (answer.json()["id"], answer.json()["name"]) == ("copy", "A copy")
    assert numbered.json()["id"].startswith("world-")
    assert (copy.read(id)["status"], sandbox.read(id)["status"]) == ("canceled", "authorized")
    assert set(answer.json()["keys"]) == set(sandbox.manage("GET", "").json()["keys"])
    keys = [one["key"] for one in answer.json()["keys"].values()]
    assert sandbox.key("merchant") not in keys


def test_a_world_is_renamed_and_stays_so(sandbox):
    renamed = sandbox.manage("PATCH", "", {"name": "Release 7"}).json()
    sandbox.reset()

    assert renamed["name"] == "Release 7"
    assert sandbox.load(sandbox.saved()).expect(200)["name"] == "Release 7"
