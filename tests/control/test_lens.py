"""Operators ask what a key would be answered, and the platform answers exactly that."""

import pytest

from sandbox.platform.routes import OPERATIONS
from tests.control.refusals import everything
from tests.driving import fresh


def looked(sandbox, key, operation, target=None):
    body = {"key": key, "operation": operation, "target": target}
    return sandbox.manage("POST", "/lens", body).expect(200)


@pytest.fixture(scope="module")
def sandbox():
    return fresh()


KEYS = (
    *("admin", "psp", "partner", "merchant", "second_merchant", "other_partner"),
    *("merchant_read_only", "revoked", "expired", "deleted", "legacy"),
)


def test_the_lens_says_for_every_key_what_the_platform_answers(sandbox):
    for operation, id in (
        ("transactions.read", sandbox.paid_id()),
        ("accounts.read", sandbox.account_id("merchant")),
        ("accounts.read", sandbox.account_id("other_merchant")),
        ("terminals.read", sandbox.terminal_id("merchant")),
    ):
        row = next(row for row in OPERATIONS if row.name == operation)
        address = row.path.partition("{")[0] + id

        seen = {key: looked(sandbox, key, operation, id) for key in KEYS}

        answers = {key: sandbox.ask(row.method, address, key=key).status for key in KEYS}
        assert {key: one["status"] for key, one in seen.items()} == answers, operation
        assert len(set(answers.values())) > 1
        could = {one["cast"] for one in seen["merchant"]["could"]}
        assert could >= {key for key, status in answers.items() if status == 200}


def test_a_refusal_names_the_permission_that_is_missing_and_the_clause(sandbox):
    seen = looked(sandbox, "merchant_read_only", "payments.capture", sandbox.paid_id())

    assert (seen["status"], seen["allowed"]) == (401, False)
    assert seen["missing"] == ["payments:capture"]
    assert seen["decisions"][-1]["clause"] == "spec 5.9"
    assert "merchant" in {one["cast"] for one in seen["could"]}
    reserved = looked(sandbox, "merchant", "transactions.edit", sandbox.paid_id())
    assert (reserved["status"], reserved["missing"], reserved["could"]) == (401, [], [])
    blind = sandbox.mint(["apikeys:read"], by="merchant")["id"]
    hidden = looked(sandbox, blind, "terminals.list")
    assert (hidden["status"], hidden["missing"]) == (404, ["terminals:read"])


@pytest.mark.proves("assumed D35-admin")
def test_the_table_of_an_admin_that_sees_all_says_what_the_platform_answers():
    sandbox = fresh()
    key = sandbox.mint(["apikeys:read", "accounts:edit"], by="admin")
    query = f"account_id={sandbox.account_id('merchant')}"

    for admin_sees, status in (("own_tree", 401), ("all", 200)):
        sandbox.choose(admin_sees=admin_sees)

        rows = {one["operation"]: one for one in sandbox.look(f"lens/{key['id']}")["rows"]}

        assert rows["apikeys.list"]["descendant"] == status
        assert rows["apikeys.create"]["descendant"] == rows["accounts.read"]["own"] == 401
        assert sandbox.get("/v5/apikeys", by=key["key"], query=query).status == status


def test_the_lens_answers_a_deletion_by_the_readings_of_the_world():
    sandbox = fresh()
    sandbox.choose(delete_answers="resource")
    terminal = sandbox.terminal_id("merchant")

    seen = looked(sandbox, "merchant", "terminals.delete", terminal)
    rows = {one["operation"]: one for one in sandbox.look("lens/merchant")["rows"]}

    path = next(row.path for row in OPERATIONS if row.name == "terminals.delete")
    answer = sandbox.delete(path.partition("{")[0] + terminal, by="merchant")
    assert (seen["status"], rows["terminals.delete"]["own"]) == (answer.status, answer.status)


def test_the_lens_changes_nothing_and_does_not_use_a_key(sandbox):
    id = sandbox.paid_id()
    before = everything(sandbox)

    looked(sandbox, "second_merchant", "accounts.read", "second_merchant")
    sandbox.look("lens/second_merchant")
    sandbox.look(f"payments/{id}")
    sandbox.look(f"payments/{id}/moves", key="partner")

    assert everything(sandbox) == before


@pytest.mark.proves("assumed D37")
def test_the_table_of_a_key_has_each_operation_once_and_says_what_it_needs(sandbox):
    shown = sandbox.look("lens/merchant_read_only")

    rows = {row["operation"]: row for row in shown["rows"]}
    assert len(rows) == len(shown["rows"])
    assert rows["accounts.read"]["own"] == 200
    assert rows["payments.capture"]["own"] == 401
    assert rows["accounts.read"]["outside"] == 404
    assert shown["unusable"] is None
    revoked = sandbox.look("lens/revoked")
    assert revoked["unusable"] == "it is revoked"
    assert {row["own"] for row in revoked["rows"]} == {401}
    why = {row["operation"]: row["why"] for row in sandbox.look("lens/merchant")["rows"]}
    assert "refunded needs payments:refund" in why["transactions.edit"]
