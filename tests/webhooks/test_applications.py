"""The webhook application of an account. Source: spec 4.4-paths-provisioning; assumed 8.3."""

import re

import pytest

from tests.directory.making import an_account, delete
from tests.webhooks.calling import add, reset

APPLICATIONS = "/worlds/default/applications"


def applications(sandbox):
    answer = sandbox.control("GET", APPLICATIONS)
    assert answer.status == 200
    return answer.json()


@pytest.mark.proves("spec 4.4-paths-provisioning", "assumed 8.3-application")
def test_a_v2_creation_provisions_an_application_to_which_endpoints_belong(sandbox):
    assert applications(sandbox) == {"applications": [], "total": 0}

    account = an_account(sandbox, path="/v2/accounts")
    (made,) = applications(sandbox)["applications"]
    hook = add(sandbox, url="http://127.0.0.1:9/", account_id=account["id"])

    assert re.fullmatch(r"app_[A-Za-z0-9]{27}", made["id"])
    assert made == {
        "id": made["id"],
        "account_id": account["id"],
        "created_at": "2026-03-01T12:00:00.000Z",
        "endpoints": [],
    }
    assert hook["application_id"] == made["id"]
    assert applications(sandbox) == {
        "applications": [made | {"endpoints": [hook["id"]]}],
        "total": 1,
    }
    # The platform's answer has no field for it: spec 2.6 lists them.
    assert "application_id" not in account


@pytest.mark.proves("assumed 8.3-application")
def test_another_account_gets_its_application_with_its_first_endpoint_and_keeps_it(sandbox):
    an_account(sandbox, path="/v1/accounts")
    assert applications(sandbox)["total"] == 0

    account_id = sandbox.account("merchant")
    hooks = [add(sandbox, url="http://127.0.0.1:9/", account_id=account_id) for _ in range(2)]
    everywhere = add(sandbox, url="http://127.0.0.1:9/")
    before = applications(sandbox)
    reset(sandbox)

    assert before["total"] == 1
    assert before["applications"][0]["endpoints"] == [one["id"] for one in hooks]
    assert everywhere["application_id"] is None
    assert applications(sandbox) == before


@pytest.mark.proves("assumed 8.3-application")
def test_the_application_of_a_deleted_account_is_gone_with_it(sandbox):
    account = an_account(sandbox, path="/v2/accounts")

    delete(sandbox, f"/v1/accounts/{account['id']}")

    assert applications(sandbox)["total"] == 0


@pytest.mark.proves("assumed 8.3-application")
def test_a_snapshot_keeps_applications(sandbox):
    an_account(sandbox, path="/v2/accounts")
    before = applications(sandbox)
    document = sandbox.control("GET", "/worlds/default/snapshot").json()
    reset(sandbox)
    assert applications(sandbox)["total"] == 0

    sandbox.control("PUT", "/worlds/default/snapshot", document)

    assert applications(sandbox) == before
