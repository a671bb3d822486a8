"""Blocking and unblocking: four kinds of record, two ways, one behaviour. Assumed 1.10."""

import pytest

from tests.directory.making import (
    a_credential,
    a_location,
    a_terminal,
    an_account,
    get,
    messages,
    put,
    set_clock,
    shown,
)

KINDS = {
    "account": ("/v1/accounts", an_account, "id"),
    "terminal": ("/v2/terminals", a_terminal, "terminal_id"),
    "location": ("/v1/locations", a_location, "id"),
    "credential": ("/v1/accounts/credentials", a_credential, "id"),
}

BLOCKED = {"account": {"status": "blocked"}, "credential": {"is_active": False}}
ACTIVE = {"account": {"status": "active"}, "credential": {"is_active": True}}


def field_of(kind, table):
    return table.get(kind, table["account"])


def a_path(sandbox, kind):
    collection, create, key = KINDS[kind]
    return f"{collection}/{create(sandbox)[key]}"


def by_alias(sandbox, path, kind, verb):
    return shown(sandbox.ask("POST", f"{path}/{verb}", key="partner"))


def by_update(sandbox, path, kind, verb):
    wanted = BLOCKED if verb == "block" else ACTIVE
    return shown(put(sandbox, path, field_of(kind, wanted)))


WAYS = [by_alias, by_update]


def announced(sandbox):
    return [(one["event_type"], one["body"]) for one in messages(sandbox)]


@pytest.mark.proves(
    "spec 3.4, 3.4-events, 3.4-transitions, 3.4-credential, 2.6-status, 2.7-status",
    "spec 2.8-status",
    "assumed 1.10, 1.3, 1.4, 1.5, 1.6, 1.6-update, 4.7-credential, C11",
)
@pytest.mark.parametrize("way", WAYS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_blocking_and_unblocking_each_change_the_record_and_are_each_announced(sandbox, kind, way):
    path = a_path(sandbox, kind)
    created = shown(get(sandbox, path))
    set_clock(sandbox, "2026-03-01T12:00:05.250Z")

    blocked = way(sandbox, path, kind, "block")
    read = shown(get(sandbox, path))
    unblocked = way(sandbox, path, kind, "unblock")

    dated = {} if kind == "credential" else {"updated_at": "2026-03-01T12:00:05.250Z"}
    assert blocked == read == created | field_of(kind, BLOCKED) | dated
    assert unblocked == created | dated
    assert announced(sandbox) == [
        (f"{kind}.created", created),
        (f"{kind}.blocked", blocked),
        (f"{kind}.unblocked", unblocked),
    ]


@pytest.mark.proves("assumed 1.10")
@pytest.mark.parametrize("way", WAYS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_setting_the_same_status_again_changes_and_announces_nothing(sandbox, kind, way):
    path = a_path(sandbox, kind)
    created = shown(get(sandbox, path))
    set_clock(sandbox, "2026-03-01T13:00:00Z")

    unblocked = way(sandbox, path, kind, "unblock")
    blocked = way(sandbox, path, kind, "block")
    set_clock(sandbox, "2026-03-01T14:00:00Z")
    again = way(sandbox, path, kind, "block")

    assert unblocked == created
    assert again == blocked
    assert [name for name, _ in announced(sandbox)] == [f"{kind}.created", f"{kind}.blocked"]


@pytest.mark.proves("assumed 1.10, 8.3-order")
@pytest.mark.parametrize("kind", ["account", "terminal", "location"])
def test_an_update_before_a_block_is_announced_first_as_the_record_was_then(sandbox, kind):
    path = a_path(sandbox, kind)

    changed = shown(put(sandbox, path, {"name": "Renamed", "status": "blocked"}))

    assert announced(sandbox)[1:] == [
        (f"{kind}.updated", changed | {"status": "active"}),
        (f"{kind}.blocked", changed),
    ]
    assert (changed["name"], changed["status"]) == ("Renamed", "blocked")


@pytest.mark.proves("assumed 1.10")
@pytest.mark.parametrize("kind", ["account", "terminal", "location"])
def test_the_same_name_with_another_status_is_announced_as_a_block_alone(sandbox, kind):
    path = a_path(sandbox, kind)
    name = shown(get(sandbox, path))["name"]

    shown(put(sandbox, path, {"name": name, "status": "blocked"}))

    assert [one for one, _ in announced(sandbox)] == [f"{kind}.created", f"{kind}.blocked"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", ["block", "unblock"])
def test_the_aliases_take_no_body_and_read_none(sandbox, kind, verb):
    path = a_path(sandbox, kind)

    for body in (b"", b"{", b'{"status":"deleted"}', b"\xff"):
        assert sandbox.ask("POST", f"{path}/{verb}", key="partner", body=body).status == 200


@pytest.mark.parametrize("kind", KINDS)
def test_a_blocked_record_stays_in_its_listing(sandbox, kind):
    collection, create, key = KINDS[kind]
    id = create(sandbox)[key]
    shown(sandbox.ask("POST", f"{collection}/{id}/block", key="partner"))

    listed = shown(get(sandbox, collection))[f"{kind}s"]

    assert [one[key] for one in listed].count(id) == 1


@pytest.mark.proves("assumed D32")
@pytest.mark.parametrize("way", ["alias", "update", "update with a name"])
def test_a_blocked_account_cannot_lift_its_own_block_and_one_above_can(sandbox, way):
    ask = {
        "alias": ("POST", "/v1/accounts/{}/unblock", ...),
        "update": ("PUT", "/v1/accounts/{}", {"status": "active"}),
        "update with a name": ("PUT", "/v2/accounts/{}", {"name": "Free", "status": "active"}),
    }
    method, path, body = ask[way]
    path = path.format(sandbox.account("merchant"))
    blocked = shown(put(sandbox, path.removesuffix("/unblock"), BLOCKED["account"]))

    own = sandbox.ask(method, path, key="merchant", json_body=body)

    assert (own.status, own.json()["error"]) == (423, "account_blocked")
    assert shown(get(sandbox, path.removesuffix("/unblock"), by="merchant")) == blocked
    above = sandbox.ask(method, path, key="partner", json_body=body)
    assert (above.status, above.json()["status"]) == (200, "active")


@pytest.mark.proves("assumed D32")
def test_a_blocked_account_may_still_change_its_other_fields(sandbox):
    path = f"/v1/accounts/{sandbox.account('merchant')}"
    put(sandbox, path, BLOCKED["account"])

    renamed = shown(put(sandbox, path, {"name": "Renamed", "status": "blocked"}, by="merchant"))

    assert (renamed["name"], renamed["status"]) == ("Renamed", "blocked")
