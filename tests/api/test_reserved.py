"""The edit of a transaction is reserved for passthrough flows; no world has a transaction yet."""

import pytest

from sandbox.domain.permissions import ACTIONS

PATH = "/v1/transactions/2f1c8a30-5b6d-4e7f-8a90-b1c2d3e4f506"


def a_key_with(sandbox, *permissions):
    body = {"name": "narrow", "permissions": list(permissions)}
    return sandbox.ask("POST", "/v5/apikeys", key="merchant", json_body=body).json()["key"]


def test_without_a_usable_key_it_is_a_401(sandbox):
    assert [sandbox.ask("PUT", PATH, key=key).status for key in (None, "revoked")] == [401, 401]


def test_without_any_payments_permission_it_is_hidden(sandbox):
    key = a_key_with(sandbox, "terminals:read")

    answer = sandbox.ask("PUT", PATH, key=key, json_body={"status": "captured"})

    assert (answer.status, sandbox.journal(answer)["decisions"][-1]["step"]) == (404, "visibility")


@pytest.mark.parametrize("action", ACTIONS["payments"])
def test_with_any_payments_permission_a_missing_transaction_is_a_404(sandbox, action):
    key = a_key_with(sandbox, f"payments:{action}")

    answer = sandbox.ask("PUT", PATH, key=key, json_body={"status": "captured"})

    assert (answer.status, sandbox.journal(answer)["decisions"][-1]["clause"]) == (
        404,
        "spec 7-404",
    )


def test_the_retired_search_is_still_a_405_without_an_allow_header(sandbox):
    answer = sandbox.ask("POST", "/v1/transactions/search", key="merchant")

    assert (answer.status, "allow" in answer.headers) == (405, False)
