"""What was seen in a world becomes a test, which passes in a world like it and in no other."""

from pathlib import Path

import pytest

from tests.control.exports import GIVES_UP, export, exported
from tests.control.refusals import assert_refused
from tests.driving import fresh
from tests.scenarios.running import running
from tests.testing.pytesting import run_pytest
from tests.webhooks.calling import delivered

RIGHT = "return sandbox.client().get(f'/v1/transactions/{webhook.subject}').json()"
"""What software does that reads the record from the platform."""

AS_TOLD = "answer.headers['Retry-After'] + 's'"


def waiting(by):
    """What software does that sends again after so long."""
    return f"    sandbox.advance({by})\n    return send()\n"


def last_request(sandbox):
    return sandbox.look("requests")["requests"][-1]["id"]


def ran_all(folder: Path, tests: dict[str, str]) -> dict[str, tuple[str, str]]:
    """How each of these tests ended, and what pytest printed of it."""
    for name, test in tests.items():
        named = test.replace("def test_what_was_seen", f"def test_{name}")
        (folder / f"test_{name}.py").write_text(named, "utf-8")
    run = run_pytest(folder)
    return {
        name: (run.result(f"test_{name}"), run.output.partition(f"_ test_{name} _")[2])
        for name in tests
    }


# --- stories ----------------------------------------------------------------------------------


def day():
    """Refunds under two readings, a decline, a refused outcome, a partial approval, a lost answer
    to a sale that its amount declines, a hold that is captured later, a batch that closes, and
    requests without a key, for another type than JSON, and with a body that is said to be none."""
    sandbox = fresh()
    run_scenario(sandbox, name="approve_all")
    sale = sandbox.paid()
    sandbox.act(sale, "refund", amount=100)
    sandbox.choose(status_after_partial_refund="refunded")
    sandbox.set_switch("batch.settlement", "manual")
    sandbox.act(sale, "refund", amount=200)
    for outcome in ("lost_card", "lost_crad", "partial_approval"):
        sandbox.pay(outcome=outcome)
    sandbox.manage("DELETE", "/scenario")
    assert sandbox.pay(900051, outcome="http_504_after").status == 504
    held = sandbox.pay(operation="auth").json()
    sandbox.advance("1h")
    sandbox.act(held, "capture", amount=900)
    sandbox.close_batch(sandbox.read(sale)["batch_id"])
    sandbox.post("/v1/accounts/credentials", {"pin": "135791"}, by="merchant")
    sandbox.ask("GET", "/v5/apikeys")
    html = {"method": "GET", "path": "/v5/apikeys", "headers": {"accept": "text/html"}}
    plain = {"method": "POST", "path": "/v3/payment", "headers": {"content-type": "text/plain"}}
    for sent in (html, plain | {"body": {"amount": 100}}):
        sandbox.manage("POST", "/send", sent | {"key": "partner"}).expect(200)
    return exported(sandbox)["content"]


def down_by_hand():
    """A batch that is closed after a maintenance that began and ended by hand, and a sale after one
    that passed."""
    sandbox = fresh()
    batch = sandbox.read(sandbox.paid())["batch_id"]
    sandbox.advance("1m")
    for lasts, then in (("90s", "80s"), ("10m", "10m")):
        assert sandbox.manage("PUT", "/maintenance", {"lasts": lasts}).status == 200
        assert sandbox.close_batch(batch).status == 503
        sandbox.advance(then)
        if then != lasts:
            sandbox.manage("DELETE", "/maintenance")
        assert sandbox.close_batch(batch).status == 200
        batch = sandbox.read(sandbox.paid())["batch_id"]
    return exported(sandbox)["content"]


def two_scenarios():
    """Payments under two scenarios, and under none."""
    sandbox = fresh()
    sandbox.paid()
    for outcome, reason in (
        ("lost_card", "invalid_card"),
        ("insufficient_funds", "insufficient_funds"),
    ):
        running(sandbox, {"when": {"operation": "sale"}, "then": {"outcome": outcome}})
        assert sandbox.pay().json()["status_reason"] == reason
        sandbox.manage("DELETE", "/scenario")
        sandbox.paid()
    run_scenario(sandbox, name="approve_all")
    return exported(sandbox)["content"]


def run_scenario(sandbox, **scenario):
    sandbox.manage("PUT", "/scenario", scenario).expect(200)


def played(scenario: str, example: int) -> str:
    """A test of a scenario of the library, whose examples were played up to this one.

    The world has an endpoint, so it draws other ids than the world of the test.
    """
    sandbox = fresh()
    sandbox.manage("POST", "/receivers", {})
    run_scenario(sandbox, name=scenario)
    play = sandbox.manage_on_loop("/scenario/play", example=example).json()
    assert [one["mistakes"] for one in play["steps"]] == [[]] * example
    return exported(sandbox)["content"]


def refunded_twice():
    """A test of a refund that timed out, was sent again, and was carried out late."""
    sandbox = fresh()
    run_scenario(sandbox, name="refund_answered_late")
    sale = sandbox.paid(5000)
    sandbox.act(sale, "refund", amount=2000)
    sandbox.act(sale, "refund", amount=2000)
    sandbox.advance("30s")
    assert sandbox.read(sale)["refunded"] == 4000
    return exported(sandbox)["content"]


def contradicted_sale():
    """A test of a sale whose late webhook says that it was declined."""
    sandbox = fresh()
    for port in (9, 10):
        sandbox.add_endpoint(url=f"http://127.0.0.1:{port}/")
    spoilt = {"then": {"delay_ms": 5, "contradict": {"status": "declined"}}, "times": 2}
    spoilt["when"] = {"event": "transaction.sale"}
    assert sandbox.manage("POST", "/webhooks/next", spoilt).status == 201
    sale = delivered(sandbox, sandbox.paid)
    delivered(sandbox, sandbox.act, sale, "refund", amount=300)
    return exported(sandbox)["content"]


STORIES = {
    "day": day,
    "two_scenarios": two_scenarios,
    "contradiction": contradicted_sale,
    "refund": refunded_twice,
    "lost": lambda: played("one_in_twenty_fails", 12),
    "down_by_rule": lambda: played("maintenance_during_batch_close", 6),
    "down_by_hand": down_by_hand,
}
DOWN = ("down_by_rule", "down_by_hand")
LOOKED_UP = ("return send()", "return None")
SOFTWARE = {
    "day": ("", ""),
    "two_scenarios": ("", ""),
    "contradiction": ("return webhook.body", RIGHT),
    **dict.fromkeys(("refund", "lost"), LOOKED_UP),
    **dict.fromkeys(DOWN, (GIVES_UP, waiting(AS_TOLD))),
}
"""Of each story what to write for what, as software does that passes."""

WRONG = {
    "day": ("{'status_after_partial_refund': 'refunded'}", "{}", "'status': 'refunded'"),
    "contradiction": ("", "", "assert 'declined' == 'captured'"),
    "refund": ("", "", "carried out at 2026-03-01T12:00:30.000Z, and this one too"),
    "lost": ("", "", "the first was carried out at 2026-03-01T12:00:00"),
    **dict.fromkeys(DOWN, ("", "", "assert 503 == 200")),
}
"""Of some what to write for what, so that it fails, and what pytest then says."""

HURRIED = dict.fromkeys(DOWN, (GIVES_UP, waiting("'1s'"), "assert 503 == 200"))


@pytest.fixture(scope="module")
def stories():
    return {name: make() for name, make in STORIES.items()}


@pytest.mark.proves("assumed D24-late, D25-export")
def test_an_exported_test_passes_only_against_the_same_behaviour(stories, tmp_path):
    rows = [("right", name, *change, None) for name, change in SOFTWARE.items()]
    rows += [("wrong", name, *change) for name, change in WRONG.items()]
    rows += [("hurried", name, *change) for name, change in HURRIED.items()]
    tests = {f"{kind}_{name}": stories[name].replace(old, new) for kind, name, old, new, _ in rows}

    ends = ran_all(tmp_path, tests)

    for kind, name, old, _, says in rows:
        word, said = ends[f"{kind}_{name}"]
        assert old in stories[name], (kind, name)
        assert word == ("FAILED" if says else "PASSED"), (kind, name, said)
        assert says is None or says in said, (kind, name, said)


# --- what is exported -------------------------------------------------------------------------


def test_an_export_adds_the_requests_that_created_the_named_records(sandbox):
    sale = sandbox.paid()
    sandbox.paid(777)
    sandbox.act(sale, "refund", amount=300)

    test = exported(sandbox, requests=[last_request(sandbox)])["content"]

    assert test.count("status_code == 200") == 2
    assert "777" not in test
    assert sale["transaction_id"] not in test


@pytest.mark.proves("assumed D25-export")
def test_a_test_that_would_fail_in_a_world_of_its_own_is_refused(sandbox):
    when = {"operation": "sale", "nth": 2}
    running(sandbox, {"when": when, "then": {"outcome": "lost_card"}})
    sandbox.paid()
    sandbox.pay()
    second = last_request(sandbox)

    refused = export(sandbox, requests=[second])

    assert refused.error() == (409, "not_exportable")
    assert f"{second}: status is 'captured', not 'declined'" in refused.json()["message"]
    assert exported(sandbox)["content"].count("assert answer_") == 2


def test_a_key_that_only_this_world_has_is_refused(sandbox):
    made = sandbox.mint(["payments:read"], by="merchant")
    sandbox.get("/v2/transactions", by=made["key"])

    assert_refused(sandbox.manage("POST", "/export", {"as": "pytest"}), 409, "not_exportable")


def test_an_exported_test_is_always_valid_python(sandbox):
    id = sandbox.paid()["transaction_id"]
    for path in (f"/v1/transactions/{id}", "/v1/it's {odd}", '/"', "/a\\b", "/a?b#c\n"):
        sandbox.get(path, query="q='{x}%22&y=1\"")
    sandbox.ask("POST", "/v3/payment", key="partner", body=b"\xe5\xff not JSON")
    sandbox.ask("POST", f"/v3/payments/{id}/capture", key="partner", body=b'"\'{}"')

    test = exported(sandbox)["content"]
    compile(test, "test_what_was_seen.py", "exec")
    assert "'/a%3Fb%23c%0A' + " in test
    assert "## `GET /a?b#c`: 404" in exported(sandbox, "markdown")["content"]
