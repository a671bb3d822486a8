"""The operator's surface: worlds, clocks, switches, and helpful refusals."""

import re
from typing import Any

import pytest

from sandbox import __version__
from sandbox.app import build
from sandbox.settings import Settings
from tests.conftest import NOW
from tests.control.refusals import assert_refused
from tests.driving import InProcess, Response

SWITCHES = {
    "strict_headers": False,
    "refund.partial_status": "unchanged",
    "idempotency.duplicate": "reject",
    "lifecycle.rule_failures": "http_400",
    "triggers.enabled": True,
    "latency.scale": 0,
    "webhooks.time_scale": 1,
    "webhooks.timestamp": "wall",
    "batch.settlement": "auto",
    "quota.per_second": 0,
    "quota.per_minute": 0,
}
"""Every switch at its default (assumed D8)."""

STRICT = SWITCHES | {"strict_headers": True}
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def create(sandbox: InProcess, **body: Any) -> Response:
    return sandbox.control("POST", "/worlds", body)


def test_health_says_version_and_store(sandbox):
    answer = sandbox.control("GET", "/health")

    assert answer.status == 200
    assert answer.json() == {"status": "ok", "version": __version__, "store": "memory"}


# --- worlds -----------------------------------------------------------------------------------


def test_a_world_is_shown_with_its_cast(sandbox):
    answer = create(sandbox, id="mine", name="Mine", seed=7, clock=NOW)

    world = answer.json()
    assert answer.status == 201
    assert list(world) == [
        *("id", "name", "seed", "fixture", "scenario", "readings", "clock"),
        *("accounts", "terminals", "locations", "keys"),
    ]
    assert (world["id"], world["name"], world["seed"]) == ("mine", "Mine", 7)
    assert (world["fixture"], world["scenario"]) == ("demo", None)
    assert world["clock"] == {"now": NOW, "mode": "frozen", "rate": 1.0}
    for what in ("accounts", "terminals", "locations"):
        assert all(UUID.fullmatch(id) for id in world[what].values())
    for one in world["keys"].values():
        assert list(one) == ["id", "key"]
        assert one["key"].startswith("svc_")


def test_a_world_needs_nothing_and_gets_the_defaults(sandbox):
    answer = sandbox.control("POST", "/worlds")

    world = answer.json()
    assert answer.status == 201
    assert (world["id"], world["name"], world["seed"]) == ("world-1", "", 1)
    assert (world["fixture"], world["clock"]["mode"]) == ("demo", "running")


@pytest.mark.proves("assumed D21")
def test_a_world_can_have_another_fixture_and_switches(sandbox):
    created = create(sandbox, id="mine", fixture="empty", switches={"strict_headers": True})

    assert list(created.json()["keys"]) == ["admin"]
    assert sandbox.control("GET", "/worlds/mine/switches").json() == STRICT
    assert sandbox.control("GET", "/worlds/default/switches").json() == SWITCHES


@pytest.mark.proves("assumed D25")
def test_a_world_is_created_with_its_endpoints(sandbox):
    url = "http://127.0.0.1:9/hook"
    endpoints = [{"id": "ours", "url": url}, {"url": url, "account_id": "partner"}]

    world = create(sandbox, id="hooked", scenario="duplicate_event", endpoints=endpoints)

    assert world.status == 201
    listed = sandbox.control("GET", "/worlds/hooked/endpoints").json()["endpoints"]
    assert [one["url"] for one in listed] == [url, url]
    assert listed[0]["id"] == "ours"
    partner = world.json()["accounts"]["partner"]
    assert [one["account_id"] for one in listed] == [None, partner]


@pytest.mark.parametrize(
    ("endpoint", "message"),
    [
        ({"url": "no url"}, "endpoints.1.url: must"),
        ({"url": "http://a.example/", "event_types": ["sale"]}, "endpoints.1: event_types: "),
        ({"url": "http://a.example/", "account_id": "nobody"}, "endpoints.1: account_id: "),
        ({"url": "http://a.example/", "id": "ours"}, "endpoints.1: there is an endpoint 'ours'"),
    ],
)
def test_an_endpoint_that_cannot_be_registered_leaves_no_world(sandbox, endpoint, message):
    first = {"id": "ours", "url": "http://a.example/"}

    answer = create(sandbox, id="hooked", endpoints=[first, endpoint])

    assert answer.status in (400, 409)
    assert answer.json()["message"].startswith(message)
    assert sandbox.control("GET", "/worlds/hooked").status == 404


def test_worlds_are_listed_and_read_as_they_were_created(sandbox):
    created = create(sandbox, id="mine", clock=NOW).json()

    listed = sandbox.control("GET", "/worlds").json()
    read = sandbox.control("GET", "/worlds/mine")

    assert [world["id"] for world in listed["worlds"]] == ["default", "mine"]
    assert listed["total"] == 2
    assert listed["worlds"][1] == created
    assert (read.status, read.json()) == (200, created)


def test_a_deleted_world_is_gone(sandbox):
    create(sandbox, id="mine")

    deleted = sandbox.control("DELETE", "/worlds/mine")

    assert (deleted.status, deleted.body) == (204, b"")
    assert sandbox.control("GET", "/worlds").json()["total"] == 1
    assert_refused(sandbox.control("GET", "/worlds/mine"), 404, "unknown_world")


def test_an_id_that_is_taken_is_a_409_and_leaves_the_world_alone(sandbox):
    before = create(sandbox, id="mine", seed=7, clock=NOW).json()

    refused = create(sandbox, id="mine", seed=8)

    assert_refused(refused, 409, "world_taken")
    assert sandbox.control("GET", "/worlds/mine").json() == before


@pytest.mark.parametrize(
    ("body", "error", "nearest"),
    [
        ({"fixture": "dmeo"}, "unknown_fixture", "demo"),
        ({"fixture": "emty"}, "unknown_fixture", "empty"),
        ({"fixture": "something-else"}, "unknown_fixture", None),
        ({"sede": 7}, "validation_error", "seed"),
        ({"fixtures": "demo"}, "validation_error", "fixture"),
        ({"qqqqqqq": 7}, "validation_error", None),
        ({"clock": {"mod": "frozen"}}, "validation_error", "mode"),
        ({"clock": {"nwo": NOW}}, "validation_error", "now"),
        ({"switches": {"strict_header": True}}, "unknown_switch", "strict_headers"),
        ({"switches": {"strict_headers": "yes"}}, "unknown_switch", None),
        ({"switches": {"strict_headers": 1}}, "unknown_switch", None),
        ({"switches": ["strict_headers"]}, "validation_error", None),
        ({"seed": "7"}, "validation_error", None),
        ({"seed": 7.5}, "validation_error", None),
        ({"seed": True}, "validation_error", None),
        ({"seed": 2**63}, "validation_error", None),
        ({"seed": 10**400}, "validation_error", None),
        ({"name": 5}, "validation_error", None),
        ({"name": "x" * 201}, "validation_error", None),
        ({"id": "No"}, "validation_error", None),
        ({"clock": "running"}, "validation_error", None),
        ({"clock": 5}, "validation_error", None),
        ({"clock": "2026-03-01"}, "validation_error", None),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_world_that_cannot_be_made_is_a_400_that_helps_and_makes_nothing(
    sandbox, body, error, nearest
):
    answer = create(sandbox, **body)

    assert_refused(answer, 400, error, nearest)
    assert sandbox.control("GET", "/worlds").json()["total"] == 1


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/worlds/defualt"),
        ("DELETE", "/worlds/defualt"),
        ("POST", "/worlds/defualt/reset"),
        ("GET", "/worlds/defualt/clock"),
        ("PUT", "/worlds/defualt/clock"),
        ("GET", "/worlds/defualt/switches"),
        ("GET", "/worlds/defualt/scenario"),
        ("PUT", "/worlds/defualt/scenario"),
        ("DELETE", "/worlds/defualt/scenario"),
        ("PUT", "/worlds/defualt/switches"),
        ("GET", "/worlds/defualt/messages"),
        ("GET", "/worlds/defualt/messages/x"),
        ("GET", "/worlds/defualt/requests"),
        ("DELETE", "/worlds/defualt/requests"),
        ("GET", "/worlds/defualt/requests/x"),
    ],
)
def test_an_unknown_world_is_a_404_with_the_nearest_one(sandbox, method, path):
    answer = sandbox.control(method, path, {} if method == "PUT" else ...)

    assert_refused(answer, 404, "unknown_world", "default")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PATCH", "/worlds", {"GET", "POST"}),
        ("PUT", "/worlds/default", {"GET", "PATCH", "DELETE"}),
        ("GET", "/worlds/default/reset", {"POST"}),
        ("POST", "/health", {"GET"}),
    ],
)
def test_a_method_that_is_not_served_is_a_405_that_lists_those_that_are(
    sandbox, method, path, allowed
):
    answer = sandbox.control(method, path)

    assert_refused(answer, 405, "method_not_allowed")
    assert set(answer.headers["allow"].split(", ")) == allowed


@pytest.mark.parametrize(
    "body",
    [b"[]", b"5", b"null", b"{", b"\xff", b'{"id":"a","id":"b"}', b'{"seed":NaN}', b"[" * 100_000],
    ids=lambda body: repr(body[:20]),
)
def test_a_body_that_is_not_an_object_is_a_400(sandbox, body):
    answer = sandbox.ask("POST", "/_sandbox/worlds", body=body)

    assert_refused(answer, 400, "validation_error")
    assert sandbox.control("GET", "/worlds").json()["total"] == 1


@pytest.mark.proves("assumed D25")
def test_a_body_of_more_than_one_mebibyte_is_a_413(sandbox):
    answer = sandbox.ask("POST", "/_sandbox/worlds", body=b" " * 1_048_577)

    assert_refused(answer, 413, "body_too_large")


# --- clocks and switches ----------------------------------------------------------------------


@pytest.mark.proves("assumed D21")
def test_a_clock_is_read_and_set(sandbox):
    read = sandbox.control("GET", "/worlds/default/clock").json()

    set_to = sandbox.control(
        "PUT",
        "/worlds/default/clock",
        {"now": "2027-06-01T02:00:00+02:00", "mode": "frozen", "rate": 2},
    )

    assert read == {"now": NOW, "mode": "frozen", "rate": 1.0}
    assert set_to.status == 200
    assert set_to.json() == {"now": "2027-06-01T00:00:00.000Z", "mode": "frozen", "rate": 2.0}
    assert sandbox.control("GET", "/worlds/default/clock").json() == set_to.json()


@pytest.mark.proves("assumed D21")
@pytest.mark.parametrize(
    ("clock", "shown"),
    [
        (
            "2030-01-01T00:00:00Z",
            {"now": "2030-01-01T00:00:00.000Z", "mode": "frozen", "rate": 1.0},
        ),
        (
            {"now": "2030-01-01T00:00:00Z", "mode": "frozen", "rate": 60},
            {"now": "2030-01-01T00:00:00.000Z", "mode": "frozen", "rate": 60.0},
        ),
    ],
)
def test_a_world_begins_at_the_clock_it_is_given(sandbox, clock, shown):
    assert create(sandbox, clock=clock).json()["clock"] == shown


@pytest.mark.parametrize(
    ("body", "nearest"),
    [
        ({"now": "2026-03-01"}, None),
        ({"now": "now"}, None),
        ({"now": 5}, None),
        ({"now": "1969-12-31T23:59:59.999Z"}, None),
        ({"now": "9000-01-01T00:00:00.001Z"}, None),
        ({"mode": "stopped"}, None),
        ({"mode": "FROZEN"}, None),
        ({"mode": True}, None),
        ({"rate": 0}, None),
        ({"rate": -1}, None),
        ({"rate": 86_400.1}, None),
        ({"rate": "2"}, None),
        ({"rate": 10**400}, None),
        ({"time": NOW}, None),
        ({"rte": 2}, "rate"),
        ({"nwo": NOW}, "now"),
    ],
    ids=str,
)
def test_a_clock_that_cannot_be_set_is_a_400_and_stays_as_it_is(sandbox, body, nearest):
    answer = sandbox.control("PUT", "/worlds/default/clock", {"mode": "running"} | body)

    assert_refused(answer, 400, "validation_error", nearest)
    assert sandbox.control("GET", "/worlds/default/clock").json() == {
        "now": NOW,
        "mode": "frozen",
        "rate": 1.0,
    }


@pytest.mark.parametrize("instant", ["1970-01-01T00:00:00.000Z", "9000-01-01T00:00:00.000Z"])
def test_a_clock_can_be_set_to_either_of_its_bounds_and_the_platform_still_answers(
    sandbox, instant
):
    set_to = sandbox.control("PUT", "/worlds/default/clock", {"now": instant})
    made = sandbox.ask(
        "POST", "/v5/apikeys", key="admin", json_body={"name": "x", "permissions": ["all"]}
    )

    assert set_to.json()["now"] == instant
    assert made.status == (201 if instant < "2000" else 401)


@pytest.mark.proves("assumed D8, 10")
def test_switches_are_read_and_set_one_by_one(sandbox):
    before = sandbox.control("GET", "/worlds/default/switches")

    after = sandbox.control("PUT", "/worlds/default/switches", {"strict_headers": True})
    nothing = sandbox.control("PUT", "/worlds/default/switches", {})

    assert (before.status, before.json()) == (200, SWITCHES)
    assert (after.status, after.json()) == (200, STRICT)
    assert (nothing.status, nothing.json()) == (200, STRICT)


@pytest.mark.proves("assumed 10, D8")
@pytest.mark.parametrize(
    "change",
    [
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
    ],
    ids=str,
)
def test_each_switch_has_its_other_values_and_leaves_the_rest_alone(sandbox, change):
    after = sandbox.control("PUT", "/worlds/default/switches", change)

    assert (after.status, after.json()) == (200, SWITCHES | change)
    assert sandbox.control("GET", "/worlds/default/switches").json() == SWITCHES | change


@pytest.mark.parametrize(
    ("body", "nearest"),
    [
        ({"strict_header": True}, "strict_headers"),
        ({"strict_headers": True, "qqq": 1}, None),
        ({"strict_headers": None}, None),
        ({"strict_headers": "true"}, None),
        ({"strict_headers": 0}, None),
        ({"refund.partial_status": "refund"}, None),
        ({"refund.partial": "refunded"}, "refund.partial_status"),
        ({"idempotency.duplicate": True}, None),
        ({"lifecycle.rule_failures": 200}, None),
        ({"triggers.enabled": 1}, None),
        ({"batch.settlement": "later"}, None),
        ({"latency.scale": -0.1}, None),
        ({"latency.scale": 10.1}, None),
        ({"latency.scale": "1"}, None),
        ({"latency.scale": True}, None),
        ({"webhooks.time_scale": -0.1}, None),
        ({"webhooks.time_scale": 10.1}, None),
        ({"webhook.time_scale": 1}, "webhooks.time_scale"),
    ],
    ids=str,
)
def test_a_switch_or_value_that_does_not_exist_is_a_400_that_sets_nothing(sandbox, body, nearest):
    answer = sandbox.control("PUT", "/worlds/default/switches", body)

    assert_refused(answer, 400, "unknown_switch", nearest)
    assert sandbox.control("GET", "/worlds/default/switches").json() == SWITCHES


def test_the_seed_of_the_server_is_the_seed_of_worlds_that_name_none():
    sandbox = InProcess(build(Settings(seed=42)))

    assert create(sandbox).json()["seed"] == 42
    assert create(sandbox, seed=0).json()["seed"] == 0
