"""The kit in surroundings that others have made: gevent, running loops, a forgotten setUp."""

import asyncio
import json
import sys
import unittest
from contextlib import nullcontext

import pytest

from tests.testing.pytesting import run_pytest
from uat_sandbox.cases import SandboxTestCase
from uat_sandbox.server import sandbox_server

GEVENT = """
import sys
from types import ModuleType

gevent, monkey = ModuleType("gevent"), ModuleType("gevent.monkey")
monkey.is_module_patched = lambda name: name == "threading"
sys.modules |= {"gevent": gevent, "gevent.monkey": monkey}
"""


def test_the_sandbox_is_a_process_of_its_own_where_gevent_has_patched_threads(tmp_path):
    (tmp_path / "conftest.py").write_text(GEVENT)
    (tmp_path / "test_it.py").write_text(
        "def test_its_place(sandbox, sandbox_server):\n    assert not sandbox_server.is_here\n"
    )

    run = run_pytest(tmp_path, "test_it.py")

    assert run.code == 0, run.output
    assert "a process of its own, because gevent has patched threads" in run.output


@pytest.mark.parametrize("call", ["settle", "wait_for", "expect_none"])
def test_waiting_in_a_running_loop_warns_and_names_the_way_out(call):
    async def wait(world):
        getattr(world.webhooks, call)()

    with sandbox_server() as server, server.world() as world:
        sale = {"amount": 1000, "terminal_id": world.terminal()}
        world.client().post("/v3/payment", json=sale)
        expected = pytest.raises(AssertionError) if call == "expect_none" else nullcontext()
        with pytest.warns(UserWarning, match=rf"{call} stops the event loop.*to_thread"), expected:
            asyncio.run(wait(world))
        if call == "settle":
            world.webhooks.settle()


def test_a_saved_world_is_loaded_in_any_form_of_it():
    with sandbox_server() as server, server.world() as world, server.world() as other:
        sale = {"amount": 1234, "terminal_id": world.terminal()}
        made = world.client().post("/v3/payment", json=sale).json()
        saved = world.save()

        for form in (saved, saved.decode(), json.loads(saved)):
            other.reset()
            other.load(form)

            path = f"/v1/transactions/{made['transaction_id']}"
            assert other.client().get(path).json()["total_amount"] == 1234


def test_a_key_in_a_wrong_header_is_explained_with_a_command_too(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "def test_it(sandbox):\n"
        "    headers = {'authorization': f'Bearer {sandbox.key()}'}\n"
        "    answer = sandbox.client(None).get('/v5/apikeys', headers=headers)\n"
        "    assert answer.status_code == 200\n"
    )
    command = f"{sys.executable} -m sandbox serve"

    run = run_pytest(tmp_path, f"--sandbox-command={command}", "test_it.py")

    assert run.code == 1
    assert "no API key was sent in its header, but authorization has one" in run.output


def test_a_forgotten_set_up_of_a_test_case_is_named():
    class TestShop(SandboxTestCase):
        def setUp(self):
            self.sandbox.key()

        def runTest(self):  # noqa: N802
            raise AssertionError

    result = unittest.TestResult()
    unittest.TestSuite([TestShop()]).run(result)

    assert "call super().setUp() first in your setUp()" in result.errors[0][1]


def test_webhooks_that_were_not_accepted_are_listed():
    with sandbox_server() as server, server.world() as world:
        sale = {"amount": 1000, "terminal_id": world.terminal()}
        world.client().post("/v3/payment", json=sale)
        world.webhooks.expect_accepted()

        world.webhooks.respond(500)
        world.client().post("/v3/payment", json=sale)

        with pytest.raises(AssertionError, match=r"transaction\.sale msg_\w+: answered 500"):
            world.webhooks.expect_accepted()
