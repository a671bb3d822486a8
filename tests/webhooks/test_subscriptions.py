"""Who hears what: accounts, event types and filters of endpoints. Source: assumed 8.3-audience."""

import pytest

from tests.support.payments import pay
from tests.webhooks.calling import add, reached, sample, types_reached, world_of


@pytest.mark.proves("assumed 8.3-audience")
@pytest.mark.parametrize(
    ("owner", "is_subscribed_to"),
    [
        ("merchant", True),
        ("partner", True),
        ("psp", True),
        (None, True),
        ("second_merchant", False),
        ("other_partner", False),
        ("other_merchant", False),
    ],
)
def test_an_endpoint_receives_events_of_its_account_and_below(sandbox, owner, is_subscribed_to):
    account_id = None if owner is None else sandbox.account(owner)
    id = add(sandbox, account_id=account_id, event_types=["transaction.sale"])["id"]

    pay(sandbox, at="merchant")

    assert types_reached(sandbox, id) == (["transaction.sale"] if is_subscribed_to else [])


@pytest.mark.proves("assumed 8.3-audience")
def test_a_merchant_receives_no_events_of_its_partner(sandbox):
    below = add(sandbox, account_id=sandbox.account("merchant"))["id"]
    own = add(sandbox, account_id=sandbox.account("partner"))["id"]

    sandbox.ask(
        "PUT",
        f"/v2/accounts/{sandbox.account('partner')}",
        key="partner",
        json_body={"description": "new"},
    )

    assert types_reached(sandbox, own) == ["account.updated"]
    assert types_reached(sandbox, below) == []


def test_the_creation_of_an_account_is_heard_by_the_one_above(sandbox):
    own = add(sandbox, account_id=sandbox.account("partner"))["id"]
    other = add(sandbox, account_id=sandbox.account("other_partner"))["id"]
    address = {"street_line1": "1 Main St", "city": "Austin", "state": "TX", "zip": "78701"}

    made = sandbox.ask(
        "POST",
        "/v2/accounts",
        key="partner",
        json_body={
            "type": "merchant",
            "name": "Corner Cafe",
            "description": "Coffee",
            "mcc": "5814",
            "address": address,
        },
    )

    assert made.status == 201, made.body
    assert types_reached(sandbox, own) == ["account.created", "api_key.created"]
    assert types_reached(sandbox, other) == []


@pytest.mark.proves("spec 6.1.3")
def test_event_types_choose_and_none_means_all(sandbox):
    some = add(sandbox, event_types=["transaction.sale", "batch.opened"])["id"]
    every = add(sandbox)["id"]

    pay(sandbox)

    assert types_reached(sandbox, some) == ["batch.opened", "transaction.sale"]
    assert types_reached(sandbox, every) == [
        "transaction.create",
        "batch.opened",
        "transaction.sale",
    ]


SALE = {"transaction_type": "sale", "status": "captured", "processor": "tsys"}


@pytest.mark.proves("spec 6.1.11", "assumed 8.3-filters")
@pytest.mark.parametrize(
    ("filters", "passes"),
    [
        ({"status": ["captured"]}, True),
        ({"status": ["declined"]}, False),
        ({"status": ["declined", "captured"]}, True),
        ({"transaction_type": ["sale"], "status": ["captured"]}, True),
        ({"transaction_type": ["refund"], "status": ["captured"]}, False),
        ({"transaction_type": ["refund", "sale"], "status": ["error", "captured"]}, True),
        ({"transaction_type": ["sale"], "status": ["captured"], "processor": ["tsys"]}, True),
        ({"transaction_type": ["sale"], "status": ["captured"], "processor": ["other"]}, False),
        ({}, True),
    ],
    ids=str,
)
def test_all_filters_have_to_match_each_by_any_of_its_values(sandbox, filters, passes):
    id = add(sandbox, filters=filters)["id"]

    sent = sample(sandbox, "transaction.sale", **SALE)

    assert reached(sandbox, sent) == ([id] if passes else [])


@pytest.mark.proves("assumed 8.3-filters")
@pytest.mark.parametrize("name", ["transaction_type", "processor"])
def test_a_filter_on_a_field_that_the_body_lacks_never_matches(sandbox, name):
    add(sandbox, filters={name: ["sale"], "status": ["active"]})

    sent = sample(sandbox, "account.updated", status="active")

    assert reached(sandbox, sent) == []


@pytest.mark.proves("assumed 8.3-filters")
def test_a_field_that_is_null_matches_no_filter(sandbox):
    add(sandbox, filters={"status": ["captured"]})

    sent = sample(sandbox, "transaction.sale", status=None)

    assert reached(sandbox, sent) == []


def test_a_sparse_body_is_filtered_by_what_it_has(sandbox):
    add(sandbox, filters={"status": ["deleted"]})
    every = add(sandbox, event_types=["location.deleted"])["id"]
    location = world_of(sandbox).cast.locations["merchant"]

    sandbox.ask("DELETE", f"/v1/locations/{location}", key="merchant")

    assert types_reached(sandbox, every) == ["location.deleted"]


def test_filters_see_what_the_body_says_at_that_moment(sandbox):
    id = add(sandbox, filters={"status": ["pending"]})["id"]

    pay(sandbox)

    assert types_reached(sandbox, id) == ["transaction.create"]
