"""What accounts, terminals, locations and credentials do alike. Source: spec 2.6 to 2.9."""

import pytest

from tests.directory.contract import RESOURCES, each, on_each_path, with_value
from tests.directory.making import (
    LISTINGS,
    account_id,
    delete,
    detail,
    events,
    get,
    made,
    post,
    put,
    set_clock,
    shown,
)

# --- create -----------------------------------------------------------------------------------


@pytest.mark.proves(
    "spec 2.6, 2.6-status, 2.6-type, 2.4-unset, 4.4-paths-accounts",
    "spec 2.7, 2.7-status, 2.7-null-fields",
    "spec 2.8, 2.8-status, 2.8-null-fields",
    "assumed 0.5-ids, D20, 1.4-constant, 1.5-create, 1.5-metadata",
)
@pytest.mark.parametrize("resource", each(lambda one: [()] if one.least else []))
def test_a_record_created_with_the_least_shows_every_field_its_defaults_and_null(sandbox, resource):
    record = resource.create(sandbox)

    assert record == resource.expected(sandbox, record)


@pytest.mark.proves(
    "spec 2.3, 2.6, 2.6-rates, 2.7, 2.8, 4.4-paths, 4.4-paths-accounts, 4.4-paths-locations",
    "spec 4.4-paths-terminals, 9.4",
    "assumed 1.3-alias, 1.3",
)
@pytest.mark.parametrize(("resource", "path"), on_each_path(lambda one: [()] if one.full else []))
def test_a_record_keeps_everything_that_it_is_created_with_and_reading_shows_it(
    sandbox, resource, path
):
    record = resource.create(sandbox, **resource.full)

    read = shown(get(sandbox, resource.item(record, path), by=resource.reader))

    assert record == resource.expected(sandbox, record) | resource.full
    assert read == record


@pytest.mark.proves("assumed D20")
@pytest.mark.parametrize("resource", each(lambda one: [()] if one.full else []))
def test_null_in_a_creation_is_the_same_as_leaving_the_field_out(sandbox, resource):
    nulls = dict.fromkeys([*resource.full, *resource.null_when_created])

    record = resource.create(sandbox, **nulls)

    assert record == resource.expected(sandbox, record)


@pytest.mark.proves("assumed 1.3-create, 1.4-create, 1.5-create")
@pytest.mark.parametrize(
    ("resource", "path"), on_each_path(lambda one: [()] if one.required else [])
)
def test_a_creation_without_a_required_field_is_refused_and_the_field_named(
    sandbox, resource, path
):
    body = resource.body(sandbox)
    before = sandbox.state()

    for field in resource.required:
        without = {name: value for name, value in body.items() if name != field}
        for sent in (without, body | {field: None}):
            assert field in detail(post(sandbox, path, sent)), field
    assert sandbox.state() == before


@pytest.mark.proves("assumed C8")
@pytest.mark.parametrize(("resource", "field", "hint"), each(lambda one: one.unknown))
def test_an_unknown_field_is_ignored_and_the_journal_says_so(sandbox, resource, field, hint):
    answer = post(sandbox, resource.paths[0], resource.body(sandbox) | {field: "x"})

    record, notes = made(answer), sandbox.journal(answer)["notes"]

    assert record == resource.expected(sandbox, record)
    assert len(notes) == 1
    assert f"'{field}' is unknown and was ignored" in notes[0]
    assert hint is None or repr(hint) in notes[0]


@pytest.mark.proves(
    "spec 2.6-type, 7-other", "assumed 7.2, 0.5-http, 0.5-errors, 1.3-create, 1.6-create"
)
@pytest.mark.parametrize("resource", RESOURCES, ids=lambda one: one.name)
def test_a_creation_with_a_bad_value_is_refused_and_the_field_named(sandbox, resource):
    body = resource.body(sandbox)
    before = sandbox.state()

    for field, value in (*resource.bad, *resource.bad_created):
        answer = post(sandbox, resource.paths[0], body | with_value(field, value))
        assert field in detail(answer), (field, value)
        assert sandbox.state() == before, (field, value)


@pytest.mark.proves("assumed 4.7-create")
@pytest.mark.parametrize(("resource", "account"), each(lambda one: one.outside))
def test_a_record_of_an_account_outside_the_hierarchy_is_not_found(sandbox, resource, account):
    body = resource.body(sandbox) | {"account_id": account_id(sandbox, account)}
    before = sandbox.state()

    answer = post(sandbox, resource.paths[0], body)

    detail(answer, 404, "not_found")
    assert sandbox.state() == before


# --- change -----------------------------------------------------------------------------------


@pytest.mark.proves(
    "spec 4.4-paths-terminals, 4.4-paths-locations",
    "assumed 1.3-update, C10, 1.3-alias, 1.4, 1.5",
)
@pytest.mark.parametrize(
    ("resource", "path", "field", "value"), on_each_path(lambda one: one.changes)
)
def test_an_update_changes_the_one_field_that_it_names_and_dates_it(
    sandbox, resource, path, field, value
):
    record = resource.create(sandbox, **resource.full)
    set_clock(sandbox, "2026-03-01T12:00:05.250Z")

    changed = shown(put(sandbox, resource.item(record, path), {field: value}))

    assert changed == record | {field: value, "updated_at": "2026-03-01T12:00:05.250Z"}
    assert shown(get(sandbox, resource.item(record))) == changed
    assert events(sandbox) == [f"{resource.name}.created", f"{resource.name}.updated"]


@pytest.mark.proves("assumed C10")
@pytest.mark.parametrize(("resource", "field"), each(lambda one: one.nullable))
def test_null_in_an_update_unsets_what_may_be_unset(sandbox, resource, field):
    record = resource.create_full(sandbox)
    before = events(sandbox)

    changed = shown(put(sandbox, resource.item(record), {field: None}))

    assert changed == record | {field: None, "updated_at": "2026-03-01T12:00:00.000Z"}
    assert events(sandbox) == [*before, f"{resource.name}.updated"]


@pytest.mark.proves("assumed C10")
@pytest.mark.parametrize("resource", RESOURCES, ids=lambda one: one.name)
def test_null_in_an_update_is_refused_for_what_is_never_unset(sandbox, resource):
    record = resource.create(sandbox, **resource.full)
    before = sandbox.state()

    for field in resource.never_null:
        answer = put(sandbox, resource.item(record), {field: None})
        if record.get(field, 0) is None:
            # What it is already may be sent back (assumed D42).
            assert shown(answer)[field] is None
        else:
            assert field in detail(answer), field
    assert sandbox.state() == before


@pytest.mark.proves("assumed 7.2, C10")
@pytest.mark.parametrize("resource", RESOURCES, ids=lambda one: one.name)
def test_an_update_with_a_bad_value_is_refused_and_the_field_named(sandbox, resource):
    item = resource.item(resource.create(sandbox, **resource.full))
    before = sandbox.state()

    for field, value in (*resource.bad, *resource.bad_updated):
        answer = put(sandbox, item, resource.beside | with_value(field, value))
        assert field in detail(answer), (field, value)
        assert sandbox.state() == before, (field, value)


@pytest.mark.proves("assumed 1.3-update, 1.6-update")
@pytest.mark.parametrize(("resource", "field", "value"), each(lambda one: one.ignored))
def test_what_an_update_cannot_change_is_ignored_and_the_journal_says_so(
    sandbox, resource, field, value
):
    record = resource.create(sandbox, **resource.full)

    answer = put(sandbox, resource.item(record), {field: account_id(sandbox, value)})

    notes = sandbox.journal(answer)["notes"]
    assert shown(answer) == record
    assert len(notes) == 1
    assert f"'{field}'" in notes[0]
    assert events(sandbox) == [f"{resource.name}.created"]


@pytest.mark.proves("spec 6.3-account.updated, 6.3-terminal.updated, 6.3-location.updated")
@pytest.mark.parametrize(
    ("resource", "same"), each(lambda one: [{}, one.full, *one.same] if one.full else [])
)
def test_an_update_that_changes_nothing_is_not_announced_nor_dated(sandbox, resource, same):
    record = resource.create(sandbox, **resource.full)
    set_clock(sandbox, "2026-03-02T00:00:00Z")

    answer = put(sandbox, resource.item(record), same)

    assert shown(answer) == record
    assert events(sandbox) == [f"{resource.name}.created"]


# --- delete -----------------------------------------------------------------------------------


@pytest.mark.proves(
    "assumed 4.7-deleted, 4.7-deleted-account, 4.7-twice, 4.1-gone, 1.3-alias, C11, Q24, 0.5-errors"
)
@pytest.mark.parametrize(("resource", "path"), on_each_path(lambda one: [()] if one.full else []))
def test_a_deleted_record_is_gone_for_every_operation(sandbox, resource, path):
    record = resource.create(sandbox)
    item = resource.item(record, path)
    answer = delete(sandbox, item)

    again = [
        delete(sandbox, item),
        get(sandbox, item),
        put(sandbox, item, {"name": "x"}),
        sandbox.ask("POST", f"{resource.item(record)}/block", key="partner"),
        sandbox.ask("POST", f"{resource.item(record)}/unblock", key="partner"),
    ]

    listing = f"{resource.name}s"
    listed = shown(get(sandbox, LISTINGS[listing], query="limit=200"))[listing]
    assert (answer.status, answer.body) == (204, b"")
    assert "content-type" not in answer.headers
    assert [detail(one, 404, "not_found") for one in again]
    assert record[resource.id] not in [one[resource.id] for one in listed]
    assert events(sandbox) == [f"{resource.name}.created", f"{resource.name}.deleted"]
