"""Blocking and unblocking: four kinds of record, two ways, one behaviour. Assumed 1.10."""

import pytest

from tests.directory.contract import RESOURCES


def fields_of(kind, verb):
    """The fields that are sent, and that are shown, of a record that is blocked or not."""
    if kind == "credential":
        return {"is_active": verb == "unblock"}
    return {"status": "blocked" if verb == "block" else "active"}


def by_alias(sandbox, path, kind, verb):
    # The body is not read.
    return sandbox.ask("POST", f"{path}/{verb}", key="partner", body=b'{"status": ').expect(200)


def by_update(sandbox, path, kind, verb):
    return sandbox.put(path, fields_of(kind, verb)).expect(200)


@pytest.fixture(params=RESOURCES, ids=lambda one: one.name)
def resource(request):
    return request.param


@pytest.fixture
def kind(resource):
    return resource.name


@pytest.fixture
def path(sandbox, resource):
    return resource.item(resource.create(sandbox))


def announced(sandbox):
    return [(one["event_type"], one["body"]) for one in sandbox.messages()]


@pytest.mark.proves(
    "spec 3.4, 3.4-events, 3.4-transitions, 3.4-credential, 2.6-status, 2.7-status",
    "spec 2.8-status",
    "assumed 1.10, 1.3, 1.4, 1.5, 1.6, 1.6-update, 4.7-credential, C11",
)
@pytest.mark.parametrize("way", [by_alias, by_update], ids=lambda one: one.__name__)
def test_each_change_of_status_is_announced_and_no_repetition(sandbox, resource, kind, path, way):
    created = sandbox.get(path).expect(200)
    dates = iter(f"2026-03-01T13:00:0{n}.000Z" for n in range(4))

    def change(verb):
        sandbox.set_clock(now := next(dates))
        return way(sandbox, path, kind, verb), {} if kind == "credential" else {"updated_at": now}

    assert change("unblock")[0] == created
    blocked, dated = change("block")
    assert blocked == created | fields_of(kind, "block") | dated == sandbox.get(path).expect(200)
    assert change("block")[0] == blocked
    listed = sandbox.get(resource.paths[0]).expect(200)[f"{kind}s"]
    assert [one for one in listed if one[resource.id] == created[resource.id]] == [blocked]
    unblocked, dated = change("unblock")
    assert unblocked == created | dated
    assert announced(sandbox) == [
        (f"{kind}.created", created),
        (f"{kind}.blocked", blocked),
        (f"{kind}.unblocked", unblocked),
    ]


@pytest.mark.proves("assumed 1.10, 8.3-order")
def test_an_update_before_a_block_is_announced_first_as_the_record_was_then(sandbox, kind, path):
    if kind == "credential":
        return
    name = sandbox.get(path).expect(200)["name"]

    sandbox.put(path, {"name": name, "status": "blocked"}).expect(200)
    changed = sandbox.put(path, {"name": "Renamed", "status": "active"}).expect(200)

    assert announced(sandbox)[2:] == [
        (f"{kind}.updated", changed | {"status": "blocked"}),
        (f"{kind}.unblocked", changed),
    ]
    assert [name for name, _ in announced(sandbox)][:2] == [f"{kind}.created", f"{kind}.blocked"]
    assert (changed["name"], changed["status"]) == ("Renamed", "active")


@pytest.mark.proves("assumed D32")
def test_a_blocked_account_cannot_lift_its_own_block_and_one_above_can(sandbox):
    id = sandbox.account_id("merchant")

    for method, path, body in (
        ("POST", f"/v1/accounts/{id}/unblock", ...),
        ("PUT", f"/v1/accounts/{id}", {"status": "active"}),
        ("PUT", f"/v2/accounts/{id}", {"name": "Free", "status": "active"}),
    ):
        item = path.removesuffix("/unblock")
        sandbox.put(item, {"status": "blocked"})
        # It may still change its other fields.
        sandbox.put(item, {"description": path}, by="merchant").expect(200)
        blocked = sandbox.put(item, {"name": path, "status": "blocked"}, by="merchant").expect(200)
        own = sandbox.ask(method, path, key="merchant", json_body=body)
        assert own.error() == (423, "account_blocked")
        assert sandbox.get(item, by="merchant").expect(200) == blocked
        assert (blocked["name"], blocked["status"]) == (path, "blocked")
        above = sandbox.ask(method, path, key="partner", json_body=body)
        assert (above.status, above.json()["status"]) == (200, "active")


@pytest.mark.proves("assumed D32")
def test_an_account_with_none_above_can_lift_its_own_block(sandbox):
    path = f"/v1/accounts/{sandbox.account_id('psp')}"
    sandbox.put(path, {"status": "blocked"}, by="psp").expect(200)
    assert sandbox.pay().error() == (423, "account_blocked")

    assert sandbox.put(path, {"status": "active"}, by="psp").expect(200)["status"] == "active"
    assert sandbox.pay().status == 200
