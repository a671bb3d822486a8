"""Tests that are exported from a world, and what pytest says of them."""

import asyncio
from pathlib import Path

from tests.support.payments import act, advance, fresh_sandbox, paid, read
from tests.testing.pytesting import run_pytest
from tests.webhooks.calling import control, living

EXPORT = "/worlds/default/export"
RIGHT = "return sandbox.client().get(f'/v1/transactions/{webhook.subject}').json()"
"""What software does that reads the record from the platform."""

GIVES_UP = "    return answer\n"
"""What software does that takes 503 for an end, as an exported test has it."""

AS_TOLD = "answer.headers['Retry-After'] + 's'"


def waiting(by):
    """What software does that sends again after so long."""
    return f"    sandbox.advance({by})\n    return send()\n"


def export(sandbox, kind="pytest", **more):
    """The answer; the application runs in a loop, since what is exported is proved beside it."""
    return asyncio.run(control(sandbox, "POST", EXPORT, {"as": kind} | more))


def exported(sandbox, kind="pytest", **more):
    """The file that is made."""
    answer = export(sandbox, kind, **more)
    assert answer.status == 200, answer.body
    return answer.json()


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


def run_scenario(sandbox, **scenario):
    answer = sandbox.control("PUT", "/worlds/default/scenario", scenario)
    assert answer.status == 200, answer.body


def played(scenario: str, example: int) -> str:
    """A test of a scenario of the library, whose examples were played up to this one.

    The world has an endpoint, so it draws other ids than the world of the test.
    """
    sandbox = fresh_sandbox()
    sandbox.control("POST", "/worlds/default/receivers", {})
    run_scenario(sandbox, name=scenario)
    play = control(sandbox, "POST", "/worlds/default/scenario/play", {"example": example})
    assert [one["mistakes"] for one in asyncio.run(play).json()["steps"]] == [[]] * example
    return exported(sandbox)["content"]


def refunded_twice():
    """A test of a refund that timed out, was sent again, and was carried out late."""
    sandbox = fresh_sandbox()
    run_scenario(sandbox, name="refund_answered_late")
    sale = paid(sandbox, 5000)
    act(sandbox, sale, "refund", amount=2000)
    act(sandbox, sale, "refund", amount=2000)
    advance(sandbox, "30s")
    assert read(sandbox, sale)["refunded"] == 4000
    return exported(sandbox)["content"]


def contradicted_sale():
    """A test of a sale whose late webhook says that it was declined."""
    sandbox = fresh_sandbox()
    for port in (9, 10):
        endpoint = {"url": f"http://127.0.0.1:{port}/"}
        assert sandbox.control("POST", "/worlds/default/endpoints", endpoint).status == 201
    spoilt = {"then": {"delay_ms": 5, "contradict": {"status": "declined"}}, "times": 2}
    spoilt["when"] = {"event": "transaction.sale"}
    assert sandbox.control("POST", "/worlds/default/webhooks/next", spoilt).status == 201

    async def story():
        async with living(sandbox):
            sale = paid(sandbox)
            await sandbox.sandbox.worlds.default.wait_idle()
            act(sandbox, sale, "refund", amount=300)
            await sandbox.sandbox.worlds.default.wait_idle()

    asyncio.run(story())
    return exported(sandbox)["content"]
