"""The events of spec 6.3 and their bodies."""

import json
from datetime import UTC, datetime

import pytest

from sandbox.domain.directory import Account, AccountType
from sandbox.domain.events import EVENTS, Message, body_of
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


@pytest.mark.proves("spec 6.1.4, 6.3, 6.3-categories")
def test_a_row_says_what_it_means_and_three_bodies_are_sparse():
    assert {row.category for row in EVENTS.values()} == CATEGORIES
    assert [name for name, row in EVENTS.items() if row.name != name] == []
    assert [name for name, row in EVENTS.items() if row.source != f"spec 6.3-{name}"] == []
    assert len({row.meaning for row in EVENTS.values()} - {""}) == len(EVENTS)
    assert {name for name, row in EVENTS.items() if row.sparse} == {
        *("account.deleted", "terminal.deleted", "location.deleted"),
    }


@pytest.mark.proves("spec 2.6, 6.3-shapes")
def test_an_account_shows_the_fields_of_the_spec_in_their_order():
    assert list(body("account.created", ACCOUNT)) == [
        *("id", "organization_id", "available_processor_configs", "tax_id", "mcc", "type"),
        *("status", "name", "description", "parent_account_ids", "address", "surcharge_rate"),
        *("tax_rate", "surcharge_confirmation_required", "surcharge_basis", "tax_basis"),
        *("created_at", "deleted_at", "updated_at"),
    ]
