"""A merchant with money under way is not deleted. Source: assumed D45."""

import pytest

from tests.directory.making import account_id, terminal_id


def delete(sandbox):
    return sandbox.ask("DELETE", f"/v1/accounts/{account_id(sandbox, 'merchant')}", key="partner")


def sale(sandbox):
    body = {"amount": 1000, "terminal_id": terminal_id(sandbox, "merchant")}
    return sandbox.ask("POST", "/v3/payment", key="merchant", json_body=body).json()


@pytest.mark.proves("assumed D45")
@pytest.mark.parametrize(("result", "status"), [(None, 409), ("rejected", 409), ("accepted", 204)])
def test_a_merchant_is_deleted_once_its_batches_have_settled(sandbox, result, status):
    sandbox.control("PUT", "/worlds/default/switches", {"batch.settlement": "manual"})
    batch = sale(sandbox)["batch_id"]
    if result is not None:
        path = f"/v1/batches/{batch}/close"
        closed = sandbox.ask("POST", path, key="merchant", json_body={})
        assert closed.status == 200, closed.body
        assert delete(sandbox).status == 409
        answer = f"/worlds/default/batches/{batch}/answer"
        answered = sandbox.control("POST", answer, {"answer": result})
        assert answered.status == 200, answered.body

    assert delete(sandbox).status == status


def test_a_merchant_whose_batch_is_empty_is_deleted(sandbox):
    body = {"terminal_id": terminal_id(sandbox, "merchant")}
    opened = sandbox.ask("POST", "/v1/batches/open", key="merchant", json_body=body)
    assert opened.status in (200, 201)

    assert delete(sandbox).status == 204
