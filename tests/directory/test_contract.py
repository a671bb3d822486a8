"""What accounts, terminals, locations and credentials do alike. Source: spec 2.6 to 2.9."""

import pytest

from tests.directory.contract import LARGE, RESOURCES, with_value
from tests.support.directory import LISTINGS


@pytest.fixture(params=RESOURCES, ids=lambda one: one.name)
def resource(request):
    return request.param


@pytest.fixture(params=LARGE, ids=lambda one: one.name)
def large(request):
    """Accounts, terminals and locations, which have many fields."""
    return request.param


# --- create -----------------------------------------------------------------------------------


@pytest.mark.proves(
    "spec 2.3, 2.6, 2.6-status, 2.6-type, 2.6-rates, 2.4-unset, 2.7, 2.7-status, 2.7-null-fields",
    "spec 2.8, 2.8-status, 2.8-null-fields",
    "spec 4.4-paths, 4.4-paths-accounts, 4.4-paths-locations, 4.4-paths-terminals, 9.2, 9.4",
    "assumed 1.3-v1, 0.5-ids, D20, 1.3, 1.3-alias, 1.4-constant, 1.5-create, 1.5-metadata",
)
def test_a_new_record_has_the_given_values_and_defaults_for_the_rest(sandbox, large):
    nulls = dict.fromkeys([*large.full, *large.null_when_created])

    for given in ({}, nulls, large.full):
        record = large.create(sandbox, **given)
        set_fields = {name: one for name, one in given.items() if one is not None}
        assert record == large.expected(sandbox, record) | set_fields
        for path in large.paths:
            assert sandbox.get(large.item(record, path)).expect(200) == record
        sandbox.delete(large.item(record))


@pytest.mark.proves("assumed C8")
def test_an_unknown_field_is_ignored_and_the_journal_says_so(sandbox, large):
    for field, hint in large.unknown:
        answer = sandbox.post(large.paths[0], large.body(sandbox) | {field: "x"})
        record, (note,) = answer.expect(201), sandbox.journal(answer)["notes"]
        assert record == large.expected(sandbox, record)
        assert f"'{field}' is unknown and was ignored" in note
        assert hint is None or repr(hint) in note
        sandbox.delete(large.item(record))


@pytest.mark.proves(
    "spec 2.6-type, 7-other",
    "assumed 7.2, 0.5-http, 0.5-errors, 1.3-create, 1.4-create, 1.5-create, 1.6-create",
)
def test_a_creation_with_a_bad_or_missing_value_is_refused_and_the_field_named(sandbox, resource):
    body = resource.body(sandbox)
    before = sandbox.state()

    for field, value in (*resource.bad, *resource.bad_created):
        answer = sandbox.post(resource.paths[0], body | with_value(field, value))
        assert field in answer.detail(), (field, value)
        assert sandbox.state() == before, (field, value)
    for path in resource.paths:
        for field in resource.required:
            without = {name: value for name, value in body.items() if name != field}
            for sent in (without, body | {field: None}):
                assert field in sandbox.post(path, sent).detail(), field
    assert sandbox.state() == before


# --- change -----------------------------------------------------------------------------------


@pytest.mark.proves(
    "spec 4.4-paths-terminals, 4.4-paths-locations",
    "spec 6.3-account.updated, 6.3-terminal.updated, 6.3-location.updated",
    "assumed 1.3-update, C10, 1.3-alias, 1.4, 1.5",
)
def test_an_update_changes_the_one_field_that_it_names_dates_it_and_is_announced(sandbox, large):
    changes = [*large.changes, *((name, None) for name in large.nullable)]
    record = large.create(sandbox, **large.full)
    heard = [f"{large.name}.created"]

    for number, (field, value) in enumerate(changes):
        for path in large.paths:
            # Of several paths, the later ones change nothing any more.
            is_first, moment = path == large.paths[0], f"2026-03-01T12:{number:02}:05.250Z"
            sandbox.set_clock(moment)
            was = record[field]
            record = sandbox.put(large.item(record, path), {field: value}).expect(200)
            if is_first and was != value:
                heard.append(f"{large.name}.updated")
                assert record["updated_at"] == moment, field
            assert record[field] == value
            assert sandbox.get(large.item(record)).expect(200) == record
    assert sandbox.fired() == heard
    expected = large.expected(sandbox, record) | large.full | dict(changes)
    assert record == expected | {"updated_at": record["updated_at"]}


@pytest.mark.proves("assumed 7.2, C10")
def test_an_update_with_a_bad_value_is_refused_and_the_field_named(sandbox, resource):
    record = resource.create(sandbox, **resource.full)
    item, before = resource.item(record), sandbox.state()

    for field, value in (*resource.bad, *resource.bad_updated):
        answer = sandbox.put(item, resource.beside | with_value(field, value))
        assert field in answer.detail(), (field, value)
        assert sandbox.state() == before, (field, value)
    for field in resource.never_null:
        answer = sandbox.put(item, {field: None})
        if record.get(field, 0) is None:
            # What it is already may be sent back (assumed D42).
            assert answer.expect(200)[field] is None
        else:
            assert field in answer.detail(), field
    assert sandbox.state() == before


@pytest.mark.proves(
    "spec 6.3-account.updated, 6.3-terminal.updated, 6.3-location.updated",
    "assumed 1.3-update, 1.6-update",
)
def test_a_change_of_nothing_is_not_announced_and_fixed_fields_are_noted(sandbox, resource):
    record = resource.create(sandbox, **resource.full)
    sandbox.set_clock("2026-03-02T00:00:00Z")
    item, before = resource.item(record), sandbox.state()

    for field, value in resource.ignored:
        answer = sandbox.put(item, {field: sandbox.account_id(value)})
        (note,) = sandbox.journal(answer)["notes"]
        assert answer.expect(200) == record
        assert f"'{field}'" in note
    for same in ({}, resource.full if resource in LARGE else {}, *resource.same):
        assert sandbox.put(item, same).expect(200) == record
    assert sandbox.state() == before
    assert sandbox.fired() == [f"{resource.name}.created"]


RATES = [(350, 3.5), (100, 1.0), (10_000, 100.0), (99, 99.0), (3, 3.0), (3.5, 3.5), (0, 0.0)]


@pytest.mark.proves("spec 2.6-rates", "assumed 2.8")
def test_a_rate_is_shown_in_percent_whichever_way_it_was_sent(sandbox, large):
    for field in ("surcharge_rate", "tax_rate"):
        for sent, percent in RATES:
            created = large.create(sandbox, **{field: sent})
            item = large.item(created)
            assert created[field] == percent, sent
            assert sandbox.get(item).expect(200) == created
            assert sandbox.put(item, {field: sent}).expect(200) == created
            sandbox.delete(item)


# --- delete, and what is sent back ------------------------------------------------------------


@pytest.mark.proves(
    "assumed 4.7-deleted, 4.7-deleted-account, 4.7-twice, 4.1-gone, 1.3-alias, C11, Q24, 0.5-errors"
)
def test_a_deleted_record_is_announced_and_no_longer_listed(sandbox, large):
    plural = f"{large.name}s"
    for path in large.paths:
        record = large.create(sandbox)
        item = large.item(record, path)
        answer = sandbox.delete(item)
        assert (answer.status, answer.body) == (204, b"")
        assert "content-type" not in answer.headers
        listed = sandbox.get(LISTINGS[plural], query="limit=200").expect(200)[plural]
        assert record[large.id] not in [one[large.id] for one in listed]
        assert sandbox.fired()[-2:] == [f"{large.name}.created", f"{large.name}.deleted"]


@pytest.mark.proves("assumed D42")
@pytest.mark.parametrize("unset", ["as_null", "as_empty"])
def test_every_record_can_be_sent_back_as_it_is_shown(sandbox, resource, unset):
    sandbox.choose(unset_strings=unset)
    resource.create(sandbox)
    records = sandbox.get(resource.paths[0], by="psp", query="limit=100").expect(200)
    items = [
        resource.item(one, path) for one in records[f"{resource.name}s"] for path in resource.paths
    ]

    for item in items:
        record = sandbox.get(item, by="psp").expect(200)
        back = sandbox.put(item, record, by="psp").expect(200)
        assert back == record, item
    if resource in LARGE:
        # An empty text still changes what is set.
        assert "name" in sandbox.put(items[0], {"name": ""}, by="psp").detail()
