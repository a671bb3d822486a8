"""Who hears what: accounts, event types and filters of endpoints. Source: assumed 8.3-audience."""

import pytest

from tests.directory.making import an_account
from tests.support.payments import pay
from tests.webhooks.calling import add, reached, sample, types_reached, world_of


@pytest.mark.proves("assumed 8.3-audience")
def test_what_happens_to_an_account_is_heard_there_and_above_and_nowhere_else(sandbox):
    """For every event, tests/webhooks/test_golden_events.py says the same."""
    owners = ("merchant", "partner", "psp", "other_partner")
    for owner in owners:
        add(sandbox, id=owner, account_id=sandbox.account(owner))

    path = f"/v2/accounts/{sandbox.account('partner')}"
    sandbox.ask("PUT", path, key="partner", json_body={"description": "new"})
    an_account(sandbox, path="/v2/accounts")

    created = ["account.created", "api_key.created"]
    heard = {owner: types_reached(sandbox, owner) for owner in owners}
    assert heard.pop("merchant") == heard.pop("other_partner") == []
    assert heard == {"partner": ["account.updated", *created], "psp": ["account.updated", *created]}


@pytest.mark.proves("spec 6.1.3")
def test_event_types_choose_and_none_means_all(sandbox):
    some = add(sandbox, event_types=["transaction.sale", "batch.opened"])["id"]
    every = add(sandbox)["id"]
    # Filters see what the body says at that moment.
    pending = add(sandbox, filters={"status": ["pending"]})["id"]

    pay(sandbox)

    assert types_reached(sandbox, some) == ["batch.opened", "transaction.sale"]
    assert types_reached(sandbox, every) == [
        *("transaction.create", "batch.opened", "transaction.sale")
    ]
    assert types_reached(sandbox, pending) == ["transaction.create"]


SALE = {"transaction_type": "sale", "status": "captured", "processor": "tsys"}

FILTERS = [
    ({"status": ["captured"]}, True),
    ({"status": ["declined"]}, False),
    ({"status": ["declined", "captured"]}, True),
    ({"transaction_type": ["sale"], "status": ["captured"]}, True),
    ({"transaction_type": ["refund"], "status": ["captured"]}, False),
    ({"transaction_type": ["refund", "sale"], "status": ["error", "captured"]}, True),
    ({"transaction_type": ["sale"], "status": ["captured"], "processor": ["tsys"]}, True),
    ({"transaction_type": ["sale"], "status": ["captured"], "processor": ["other"]}, False),
    ({}, True),
]


@pytest.mark.proves("spec 6.1.11", "assumed 8.3-filters")
def test_all_filters_have_to_match_each_by_any_of_its_values(sandbox):
    wanting = [
        id for filters, passes in FILTERS if (id := add(sandbox, filters=filters)["id"]) and passes
    ]

    assert reached(sandbox, sample(sandbox, "transaction.sale", **SALE)) == wanting


@pytest.mark.proves("assumed 8.3-filters")
def test_a_filter_on_a_field_that_the_body_lacks_or_has_as_null_never_matches(sandbox):
    for name in ("transaction_type", "processor"):
        add(sandbox, filters={name: ["sale"], "status": ["active"]})
    add(sandbox, filters={"status": ["captured"]})

    for event, status in (("account.updated", "active"), ("transaction.sale", None)):
        assert reached(sandbox, sample(sandbox, event, status=status)) == []


def test_a_sparse_body_is_filtered_by_what_it_has(sandbox):
    add(sandbox, filters={"status": ["deleted"]})
    every = add(sandbox, event_types=["location.deleted"])["id"]
    location = world_of(sandbox).cast.locations["merchant"]

    sandbox.ask("DELETE", f"/v1/locations/{location}", key="merchant")

    assert types_reached(sandbox, every) == ["location.deleted"]
