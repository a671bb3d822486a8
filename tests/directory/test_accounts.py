"""Accounts: their fields, creation and changes. Source: spec 2.6, assumed 1.3."""

import pytest

from tests.directory.contract import ACCOUNTS
from tests.directory.making import (
    ACCOUNT,
    an_account,
    detail,
    get,
    made,
    mint,
    post,
    put,
    shown,
)

# --- create -----------------------------------------------------------------------------------


@pytest.mark.proves("spec 2.3", "assumed D20")
def test_an_address_shows_all_six_fields_and_null_for_those_left_out(sandbox):
    account = an_account(sandbox, address={"city": "Austin"})

    assert account["address"] == {
        "street_line1": None,
        "street_line2": None,
        "city": "Austin",
        "state": None,
        "zip": None,
        "country": None,
    }


@pytest.mark.proves("assumed C8")
def test_administrators_of_a_new_account_are_known_fields_and_ignored(sandbox):
    admins = {"admin_email": "a@b.example", "admin_first_name": "A", "admin_last_name": 7}
    answer = post(sandbox, "/v1/accounts", ACCOUNT | admins)

    account = made(answer)

    assert account == ACCOUNTS.expected(sandbox, account)
    assert sandbox.journal(answer)["notes"] == []


@pytest.mark.proves("assumed C8")
@pytest.mark.parametrize("field", ["id", "status", "created_at", "organization_id"])
def test_what_only_the_platform_decides_cannot_be_chosen_in_a_creation(sandbox, field):
    account = an_account(sandbox, **{field: "chosen"})

    assert account[field] != "chosen"
    assert account["status"] == "active"


# --- change -----------------------------------------------------------------------------------


@pytest.mark.proves("spec 5.6", "assumed 4.7-write-only")
def test_an_update_needs_no_permission_to_read_and_shows_its_result(sandbox):
    # spec 5.6, assumed 4.7
    account = an_account(sandbox)
    writer = mint(sandbox, ["accounts:edit"], by="partner")["key"]
    path = f"/v1/accounts/{account['id']}"

    written, read = put(sandbox, path, {"name": "x"}, by=writer), get(sandbox, path, by=writer)

    assert shown(written)["name"] == "x"
    assert detail(read, 401, "permission_denied")
