"""What was seen in a world becomes a scenario that makes the same happen, proved beforehand."""

import asyncio
import tomllib

import pytest

from sandbox.app import build
from sandbox.scenario_examples.own_sandbox import run_examples
from sandbox.scenarios.parser import parse_scenario
from tests.control.refusals import assert_refused
from tests.support.payments import act, fresh_sandbox, paid, pay
from tests.webhooks.calling import control

EXPORT = "/worlds/default/export"


def export(sandbox, **more):
    """The answer; the application runs in a loop, since examples are proved beside it."""
    return asyncio.run(control(sandbox, "POST", EXPORT, {"as": "scenario"} | more))


def exported(sandbox, **more):
    answer = export(sandbox, **more)
    assert answer.status == 200, answer.body
    return answer.json()


@pytest.mark.proves("assumed D25-export")
def test_a_scenario_makes_the_same_outcomes_happen():
    sandbox = fresh_sandbox()
    sale = paid(sandbox)
    act(sandbox, sale, "refund", amount=300)
    pay(sandbox, outcome="lost_card")
    pay(sandbox, outcome="partial_approval")
    sandbox.control("POST", "/worlds/default/scenario/next", {"outcome": "stolen_card"})
    pay(sandbox)
    held = pay(sandbox, operation="auth").json()
    sandbox.control("POST", "/worlds/default/clock/advance", {"by": "1h"})
    act(sandbox, held, "capture", amount=900)
    sandbox.ask("GET", f"/v1/transactions/{sale['transaction_id']}")

    file = exported(sandbox)

    assert (file["name"], file["media_type"]) == ("what-was-seen.toml", "application/toml")
    assert file["requests"] == 7
    assert file["content"].startswith("# Left out, as scenarios have no word for it: GET ")
    document = tomllib.loads(file["content"])
    assert [one["then"]["outcome"] for one in document["rule"]] == [
        "lost_card",
        "partial_approval",
        "stolen_card",
    ]
    sent = [one["send"]["operation"] for one in document["example"]]
    assert sent == ["sale", "refund", "sale", "sale", "sale", "auth", "advance", "capture"]
    # Proved again: and a file whose rules are gone is not true any more.
    steps = list(run_examples(parse_scenario(document), build))
    assert [one.mistakes for one in steps if one.mistakes] == []
    del document["rule"]
    assert any(one.mistakes for one in run_examples(parse_scenario(document), build))


def test_a_sale_that_a_maintenance_refused_is_refused_in_the_scenario():
    sandbox = fresh_sandbox()
    sandbox.control("PUT", "/worlds/default/maintenance", {"lasts": "10m"})
    assert pay(sandbox).status == 503
    sandbox.control("POST", "/worlds/default/clock/advance", {"by": "10m"})
    paid(sandbox)

    document = tomllib.loads(exported(sandbox)["content"])

    assert [one["then"] for one in document["rule"]] == [{"fault": "http_503"}]
    assert [one["expect"].get("http") for one in document["example"]] == [503, None, 200]


@pytest.mark.proves("assumed D25-export")
def test_what_does_not_come_true_is_refused_with_what_differs():
    sandbox = fresh_sandbox()
    sandbox.control("PUT", "/worlds/default/readings", {"status_after_partial_refund": "refunded"})
    sale = paid(sandbox)
    act(sandbox, sale, "refund", amount=300)

    answer = export(sandbox)

    assert_refused(answer, 409, "not_exportable")
    assert "2 refund: status: expected 'refunded', came 'captured'" in answer.json()["message"]


def test_what_scenarios_have_no_word_for_is_refused():
    sandbox = fresh_sandbox()
    assert_refused(export(sandbox), 409, "nothing_to_export")
    sandbox.ask("GET", "/v5/apikeys")
    assert_refused(export(sandbox), 409, "nothing_to_export")
    unknown = export(sandbox, requests=["req_0000000009"])
    assert_refused(unknown, 400, "validation_error", "req_0000000001")
