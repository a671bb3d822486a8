"""The events of spec 6.3 and their bodies."""

import json
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from sandbox.domain.directory import Account, AccountType, Location, Terminal
from sandbox.domain.events import EVENTS, Message, body_of
from sandbox.domain.keys import ApiKey
from sandbox.domain.records import Record

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)

CATEGORIES = {"transaction", "batch", "account", "terminal", "location", "api_key", "credential"}

ACCOUNT = Account(
    id="a",
    type=AccountType.MERCHANT,
    name="Shop",
    description="",
    parent_account_ids=("p",),
    created_at=AT,
)
TERMINAL = Terminal(terminal_id="t", name="till", account_id="a", created_at=AT)
LOCATION = Location(id="l", name="shop", account_id="a", created_at=AT)
KEY = ApiKey(
    id="k",
    account_id="a",
    name="key",
    lookup="abcdefghijkl",
    salt="thesalt",
    digest="thedigest",
    key_last4="LG82",
    permissions=("payments:read",),
    expires_at=AT,
    created_at=AT,
    always_retrievable=True,
    readable_key="svc_uat_abcdefghijkl_" + "s" * 28 + "LG82",
)


def body(event_type: str, record: Record) -> object:
    message = Message(
        id="msg_1",
        event_type=event_type,
        account_id="a",
        subject="x",
        request_id=None,
        created_at=AT,
        record=record,
    )
    return json.loads(body_of(message))


@pytest.mark.proves("spec 6.3-categories")
def test_events_have_the_seven_categories_of_the_spec():
    assert {row.category for row in EVENTS.values()} == CATEGORIES


@pytest.mark.proves("spec 6.3")
@pytest.mark.parametrize("name", sorted(EVENTS))
def test_a_row_is_found_under_its_name_and_says_what_it_means(name):
    row = EVENTS[name]

    assert row.name == name
    assert row.source == f"spec 6.3-{name}"
    assert row.meaning


def test_meanings_are_told_apart():
    assert len({row.meaning for row in EVENTS.values()}) == len(EVENTS)


@pytest.mark.proves("spec 6.1.4, 6.3-account.deleted, 6.3-terminal.deleted, 6.3-location.deleted")
@pytest.mark.parametrize(
    ("event_type", "record", "expected"),
    [
        ("account.deleted", ACCOUNT, {"id": "a"}),
        ("terminal.deleted", TERMINAL, {"terminal_id": "t", "account_id": "a"}),
        ("location.deleted", LOCATION, {"id": "l", "account_id": "a"}),
    ],
)
def test_a_deletion_names_the_resource_and_nothing_more(event_type, record, expected):
    assert body(event_type, replace(record, deleted_at=AT)) == expected


@pytest.mark.proves("spec 6.1.4")
def test_only_these_three_bodies_are_sparse():
    assert {name for name, row in EVENTS.items() if row.sparse} == {
        "account.deleted",
        "terminal.deleted",
        "location.deleted",
    }


@pytest.mark.proves("spec 6.1.1, 6.3-shapes, 6.1.6")
@pytest.mark.parametrize(
    ("event_type", "record"),
    [
        ("account.created", ACCOUNT),
        ("terminal.updated", TERMINAL),
        ("location.blocked", LOCATION),
    ],
)
def test_another_body_is_the_whole_resource_without_an_envelope(event_type, record):
    shown = body(event_type, record)

    assert list(shown) == list(type(record).__struct_fields__)
    assert shown["name"] == record.name
    assert shown["created_at"] == "2026-03-01T12:00:00.000Z"
    assert shown["deleted_at"] is None


@pytest.mark.proves("spec 2.6, 6.3-shapes")
def test_an_account_shows_the_fields_of_the_spec_in_their_order():
    assert list(body("account.created", ACCOUNT)) == [
        *("id", "organization_id", "available_processor_configs", "tax_id", "mcc", "type"),
        *("status", "name", "description", "parent_account_ids", "address", "surcharge_rate"),
        *("tax_rate", "surcharge_confirmation_required", "surcharge_basis", "tax_basis"),
        *("created_at", "deleted_at", "updated_at"),
    ]


@pytest.mark.proves("spec 6.3-api-key-body, 6.1.7, 2.1-status")
@pytest.mark.parametrize(
    ("event_type", "changes", "status"),
    [
        ("api_key.created", {}, "active"),
        ("api_key.revoked", {"status": "revoked"}, "revoked"),
        ("api_key.reinstated", {}, "active"),
        ("api_key.deleted", {"status": "revoked", "deleted_at": AT}, "deleted"),
    ],
)
def test_a_key_is_shown_masked_and_without_its_permissions(event_type, changes, status):
    assert body(event_type, replace(KEY, **changes)) == {
        "id": "k",
        "account_id": "a",
        "name": "key",
        "status": status,
        "key": "****LG82",
        "key_last4": "LG82",
        "expires_at": "2026-03-01T12:00:00.000Z",
        "created_at": "2026-03-01T12:00:00.000Z",
    }


def test_a_body_is_the_same_bytes_every_time():
    message = Message(
        id="msg_1",
        event_type="account.updated",
        account_id="a",
        subject="a",
        request_id="req_1",
        created_at=AT,
        record=ACCOUNT,
    )

    assert (
        body_of(message)
        == body_of(
            replace(
                message,
            )
        )
        == body_of(message)
    )
    assert b", " not in body_of(message)
