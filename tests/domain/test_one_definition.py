"""A record has one definition: answers, webhooks and OpenAPI have the fields of its class.

They have them in its order, so a field that is added to the class is in all of them.
"""

import pytest

from sandbox.domain.batches import Batch
from sandbox.domain.directory import Account, CredentialView, Location, Terminal
from sandbox.domain.keys import ApiKeyView
from sandbox.domain.payments.transactions import Attempt, Transaction
from tests.driving import fresh


@pytest.mark.proves("spec 2.4, 2.6, 2.10-shapes, 6.3-shapes")
def test_answers_events_and_schemas_have_the_fields_of_the_class_in_its_order():
    sandbox = fresh()
    document = sandbox.control("GET", "/platform/openapi.json").json()
    key = f"/v5/apikeys/{sandbox.key_id('merchant')}"
    batch, sale = sandbox.opened_batch(), sandbox.sold()
    found = {
        Account: sandbox.get("/v1/accounts").json()["accounts"][0],
        Terminal: sandbox.get("/v2/terminals").json()["terminals"][0],
        Location: sandbox.get("/v1/locations").json()["locations"][0],
        CredentialView: sandbox.a_credential(),
        ApiKeyView: sandbox.get(key, by="psp").json(),
        Batch: batch,
        Transaction: sale,
    }
    for kind, answer in found.items():
        fields = list(kind.__struct_fields__)
        name = kind.__name__.replace("Transaction", "TransactionView")
        assert list(answer) == fields, name
        assert list(document["components"]["schemas"][name]["properties"]) == fields
    assert [list(one) for one in sale["history"]] == [list(Attempt.__struct_fields__)] * 2
    told = {one["event_type"]: one["body"] for one in sandbox.messages()}
    assert (told["batch.opened"], told["transaction.sale"]) == (batch, sale)
