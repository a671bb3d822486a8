"""Where an account, a terminal or a location is blocked. Assumed 4.7-blocked-account, I10."""

import pytest

from tests.directory.making import (
    NOBODY,
    a_terminal,
    account_id,
    location_id,
    mint,
    shown,
    terminal_id,
)
from tests.support.payments import (
    act,
    acted,
    ask,
    block_account,
    edit_batch,
    edited,
    held,
    opened_batch,
    pay,
    read,
    refused,
    search,
    set_status,
    settled,
    sold,
    sums,
    unchanged,
)

# --- blocked accounts -------------------------------------------------------------------------


@pytest.mark.proves("assumed 4.7-blocked-account, Q26, 0.5-http")
@pytest.mark.parametrize("blocked", ["merchant", "partner", "psp"])
def test_no_payment_is_taken_for_a_blocked_account_or_below_one(sandbox, blocked):
    block_account(sandbox, blocked)

    with unchanged(sandbox):
        for places in (
            {"terminal_id": terminal_id(sandbox, "merchant")},
            {"location_id": location_id(sandbox, "merchant")},
            {"account_id": account_id(sandbox, "merchant")},
        ):
            for operation in ("sale", "auth"):
                for by in ("merchant", "psp"):
                    answer = pay(sandbox, operation=operation, by=by, **places)
                    clause = "assumed 4.7-blocked-account"
                    refused(sandbox, answer, 423, "account_blocked", clause=clause)


@pytest.mark.proves("assumed 4.7-blocked-account")
def test_reading_and_what_was_done_elsewhere_go_on_while_an_account_is_blocked(sandbox):
    # tests/readings/test_blocking has all that a block stops, and what it does not.
    tx, told = sold(sandbox), shown(pay(sandbox, at="passthrough_merchant"))
    for name in ("merchant", "passthrough_merchant"):
        block_account(sandbox, name)

    assert read(sandbox, tx, by="merchant") == tx
    assert search(sandbox, by="merchant")["total"] == 1
    history = f"/v1/transactions/{tx['transaction_id']}/history"
    for path in ("/v1/transactions", history, "/v1/batches"):
        assert ask(sandbox, "GET", path, by="merchant").status == 200
    # Told, not asked for: the edit is neither an initiation nor an action (assumed 4.7).
    assert edited(sandbox, told["transaction_id"], status="captured")["status"] == "captured"


@pytest.mark.proves("assumed C5")
def test_the_permission_and_the_target_come_before_the_block_and_the_body_after_it(sandbox):
    # assumed C5
    tx = held(sandbox)
    block_account(sandbox, "merchant")
    narrow = mint(sandbox, ["payments:read"], by="psp")["key"]

    refused(sandbox, act(sandbox, tx, "capture", by=narrow), 401, "permission_denied")
    refused(sandbox, act(sandbox, tx, "capture", by="other_partner"), 404, "not_found")
    refused(sandbox, act(sandbox, NOBODY, "capture"), 404, "not_found")
    refused(sandbox, act(sandbox, tx, "capture", amount="x"), 423, "account_blocked")
    refused(sandbox, pay(sandbox, "x", by="merchant"), 423, "account_blocked")


@pytest.mark.proves("assumed 4.7-blocked-account")
def test_an_account_beside_a_blocked_one_is_told_apart_and_unblocked_all_goes_on(sandbox):
    tx = held(sandbox)
    for name in ("second_merchant", "other_partner"):
        block_account(sandbox, name)
    assert sold(sandbox)["status"] == "captured"
    refused(sandbox, pay(sandbox, at="other_merchant", by="psp"), 423, "account_blocked")
    block_account(sandbox, "partner")
    refused(sandbox, act(sandbox, tx, "capture"), 423, "account_blocked")

    block_account(sandbox, "partner", "active")

    assert acted(sandbox, tx, "capture")["status"] == "captured"


# --- blocked terminals and locations: I10 -----------------------------------------------------


def block_place(sandbox, place):
    if place == "terminal":
        set_status(sandbox, "/v2/terminals", terminal_id(sandbox, "merchant"))
    else:
        set_status(sandbox, "/v1/locations", location_id(sandbox, "merchant"))


@pytest.mark.proves("assumed 4.7-blocked-terminal")
@pytest.mark.parametrize("place", ["terminal", "location"])
def test_payments_that_were_taken_before_are_followed_up_and_settled(sandbox, place):
    authorized, more, paid, mistaken = held(sandbox), held(sandbox), sold(sandbox), sold(sandbox)
    prompted = shown(pay(sandbox, outcome="surcharge_prompt"))
    block_place(sandbox, place)

    done = [
        acted(sandbox, authorized, "increment", amount=100),
        acted(sandbox, authorized, "capture"),
        acted(sandbox, more, "reverse"),
        acted(sandbox, paid, "adjust", type="fixed", amount=50),
        acted(sandbox, paid, "refund"),
        acted(sandbox, mistaken, "reverse"),
        acted(sandbox, prompted, "confirm", confirm=True),
    ]

    assert [one["status"] for one in done] == [
        *("authorized", "captured", "reversed", "captured", "refunded", "reversed", "captured"),
    ]
    assert settled(sandbox, paid["batch_id"])["status"] == "accepted"
    assert read(sandbox, authorized)["status"] == "settled"


@pytest.mark.proves("assumed 4.7-blocked-terminal")
def test_a_batch_of_a_blocked_terminal_is_opened_edited_and_closed(sandbox):
    tx = sold(sandbox, 300)
    block_place(sandbox, "terminal")
    shown(edit_batch(sandbox, tx["batch_id"], removed_transactions=[tx["transaction_id"]]))
    settled(sandbox, tx["batch_id"])

    following = opened_batch(sandbox)["id"]
    shown(edit_batch(sandbox, following, added_transactions=[tx["transaction_id"]]))

    assert sums(sandbox, following) == (300, 0, 1)
    assert settled(sandbox, following)["status"] == "accepted"


def test_a_blocked_terminal_beside_an_active_one_leaves_one_that_an_account_stands_for(sandbox):
    # assumed 1.8-where: exactly one active terminal may be left unnamed.
    other = a_terminal(sandbox)["terminal_id"]
    merchant = account_id(sandbox, "merchant")
    two = ask(sandbox, "POST", "/v3/payment", {"amount": 100, "account_id": merchant})

    block_place(sandbox, "terminal")
    one = ask(sandbox, "POST", "/v3/payment", {"amount": 100, "account_id": merchant})

    assert "terminal_id" in refused(sandbox, two)
    assert (shown(one)["tid"], shown(one)["status"]) == (other, "captured")


# --- deleted terminals and locations ----------------------------------------------------------


@pytest.mark.proves("assumed 4.7-deleted")
@pytest.mark.parametrize(
    ("field", "path", "id_of"),
    [
        ("terminal_id", "/v2/terminals", terminal_id),
        ("location_id", "/v1/locations", location_id),
    ],
)
def test_no_payment_is_taken_at_a_deleted_place_and_those_before_keep_it(
    sandbox, field, path, id_of
):
    place = id_of(sandbox, "merchant")
    tx = held(sandbox)
    assert ask(sandbox, "DELETE", f"{path}/{place}").status == 204

    with unchanged(sandbox):
        answer = ask(sandbox, "POST", "/v3/payment", {"amount": 1000, field: place})

    refused(sandbox, answer, 404, "not_found", clause="spec 7-404")
    assert read(sandbox, tx) == tx
