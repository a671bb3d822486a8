"""The kit in surroundings that others have made: gevent, running loops, frozen time, unittest."""

import asyncio
import sys
import unittest
from contextlib import nullcontext
from operator import attrgetter

import pytest
from freezegun import freeze_time

import sandbox
import uat_sandbox
from tests.testing.conftest import pay
from tests.testing.pytesting import run_pytest
from uat_sandbox import NothingCame, sandbox_at
from uat_sandbox.cases import SandboxTestCase

GEVENT = """
import sys
from types import ModuleType

gevent, monkey = ModuleType("gevent"), ModuleType("gevent.monkey")
monkey.is_module_patched = lambda name: name == "threading"
sys.modules |= {"gevent": gevent, "gevent.monkey": monkey}
"""
TESTS = """
def test_its_place(sandbox_server, sandbox_settings):
    assert not sandbox_server.is_here
    assert sandbox_server.coverage() == {}

def test_a_key_in_a_wrong_header(sandbox):
    headers = {"authorization": f"Bearer {sandbox.key()}"}
    assert sandbox.client(None).get("/v5/apikeys", headers=headers).status_code == 200
"""


def test_the_sandbox_is_a_separate_process_where_gevent_has_patched_threads(tmp_path):
    (tmp_path / "conftest.py").write_text(GEVENT)
    (tmp_path / "test_own.py").write_text(TESTS)

    run = run_pytest(tmp_path, "test_own.py")

    assert "sandbox serve (a separate process, because gevent has patched threads" in run.output
    assert run.result("test_its_place") == "PASSED"
    # What a report explains it explains of a process too.
    assert run.result("test_a_key_in_a_wrong_header") == "FAILED"
    assert "no API key was sent in its header, but authorization has one" in run.output


def test_waiting_in_a_running_loop_warns_and_names_the_way_out(world):
    async def wait(call, how):
        attrgetter(call)(world)(**how)

    pay(world)
    for call, how in {
        "webhooks.settle": {},
        "webhooks.wait_for": {},
        "webhooks.expect_none": {},
        "webhooks.expect_accepted": {},
        "advance": {"by": "1h"},
        "set_clock": {},
        "tap": {"timeout_s": 0},
        "save": {},
        "load": {"saved": world.save()},
        "reset": {},
    }.items():
        fails = {"webhooks.expect_none": AssertionError, "tap": NothingCame}.get(call)
        expected = nullcontext() if fails is None else pytest.raises(fails)
        way_out = rf"^{call} blocks the event loop.*to_thread\(sandbox\.{call}, "
        with pytest.warns(UserWarning, match=way_out) as warned, expected:
            asyncio.run(wait(call, how))
        assert [one.filename for one in warned] == [__file__], call


def test_a_forgotten_set_up_of_a_test_case_is_named():
    class TestShop(SandboxTestCase):
        def setUp(self):
            self.sandbox.key()

        def runTest(self):  # noqa: N802
            raise AssertionError

    result = unittest.TestResult()
    unittest.TestSuite([TestShop()]).run(result)

    assert "call super().setUp() first in your setUp()" in result.errors[0][1]


class Sales(SandboxTestCase):
    sandbox_options = {"seed": 7}  # noqa: RUF012 - as a user writes it

    def test_a_decline(self):
        self.sandbox.next("insufficient_funds")
        body = {"amount": 1000, "terminal_id": self.sandbox.terminal()}
        payment = self.sandbox.client().post("/v3/payment", json=body).json()
        self.assertEqual(payment["status"], "declined")  # noqa: PT009 - this is unittest
        self.sandbox.webhooks.wait_for("transaction.sale", status="declined")
        self.assertEqual(self.sandbox.view["seed"], 7)  # noqa: PT009


@pytest.mark.parametrize("named", [None, "SANDBOX_URL", "SANDBOX_COMMAND"])
def test_a_test_case_has_a_world_for_each_test_where_the_environment_says(kit, named, monkeypatch):
    if named:
        monkeypatch.setenv(
            named, kit.url if named == "SANDBOX_URL" else f"{sys.executable} -m sandbox"
        )
        # In this process a sandbox cannot start then.
        monkeypatch.setitem(sys.modules, "sandbox.server.embedded", None)
    result = unittest.TestResult()

    unittest.defaultTestLoader.loadTestsFromTestCase(Sales).run(result)

    assert (result.testsRun, result.failures, result.errors) == (1, [], [])


def test_the_kit_has_the_version_of_the_server():
    assert uat_sandbox.__version__ == sandbox.__version__


@pytest.mark.parametrize("how", [{}, {"real_asyncio": True}, {"tick": True}])
def test_a_running_world_follows_the_frozen_time_over_the_network(world, how):
    with freeze_time("2026-03-01T12:00:00Z", **how) as frozen:
        client = world.client()
        held = pay(world, "/v3/preauth")
        world.webhooks.wait_for("transaction.authorize", subject=held["transaction_id"])

        frozen.move_to("2026-03-09T12:00:00Z")
        read = client.get(f"/v1/transactions/{held['transaction_id']}").json()

        assert held["status"] == "authorized"
        assert (read["status"], read["status_reason"]) == ("canceled", "timed_out")
        canceled = world.webhooks.wait_for("transaction.cancel", subject=held["transaction_id"])
        assert canceled.is_genuine


def test_a_world_elsewhere_that_cannot_follow_the_frozen_time_warns_once(kit):
    frozen, warned = freeze_time("2026-03-01"), pytest.warns(UserWarning, match="sandbox.advance")
    with sandbox_at(kit.url) as server, server.world() as world, frozen, warned as caught:
        world.client()
        _ = world.webhooks
        server.world(clock="2026-03-01T12:00:00Z").client()

    assert [one.filename for one in caught] == [__file__]


def test_a_wait_ends_even_in_frozen_time(world):
    with freeze_time("2026-03-01T12:00:00Z"), pytest.raises(NothingCame):
        world.webhooks.wait_for("batch.opened", timeout_s=0.01)


def test_worlds_do_not_become_unused_when_time_jumps(world):
    with freeze_time("2040-01-01T00:00:00Z"):
        world.new_world()

        assert pay(world)["created_at"] == 2_208_988_800_000
