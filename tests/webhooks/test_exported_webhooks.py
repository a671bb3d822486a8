"""Webhooks that were spoilt by hand become part of an exported test."""

import pytest

from tests.control.test_exporting_pytest import ran


@pytest.fixture
def test(hooked):
    """A sale whose webhook is contradicted by a second one; the one before it is lost."""
    hooked.ask("POST", "/receivers", {}, status=201)
    for event, then in (
        ("transaction.create", {"drop": True}),
        ("transaction.sale", {"delay_ms": 10, "contradict": {"status": "declined"}}),
    ):
        body = {"when": {"event": event}, "then": then}
        hooked.ask("POST", "/webhooks/next", body, status=201)
    hooked.pay()
    hooked.ask("POST", "/clock/advance", {"by": "0s"})
    return str(hooked.ask("POST", "/export", {"as": "pytest"}, status=200).json()["content"])


def test_a_webhook_that_contradicts_the_answer_fails_software_that_believes_it(test, tmp_path):
    status, said = ran(tmp_path, test)

    assert "sandbox.spoil(then={'drop': True}, when={'event': 'transaction.create'})" in test
    assert (status, "assert ours['status'] == record['status']" in said) == (1, True), said


def test_it_passes_software_that_asks_the_platform(test, tmp_path):
    asks = test.replace(
        "return told[-1]",
        "return sandbox.client('partner').request('GET', f'/v1/transactions/{id}').json()",
    )

    status, said = ran(tmp_path, asks)

    assert asks != test
    assert (status, "1 passed" in said) == (0, True), said
