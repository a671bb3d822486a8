"""The kit in surroundings that others have made: gevent, running loops, a forgotten setUp."""

import asyncio
import unittest
from contextlib import nullcontext

import pytest

from tests.testing.conftest import pay
from tests.testing.pytesting import run_pytest
from uat_sandbox.cases import SandboxTestCase

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


def test_waiting_in_a_running_loop_warns_and_names_the_way_out(world):
    async def wait(call):
        getattr(world.webhooks, call)()

    pay(world)
    for call in ("settle", "wait_for", "expect_none"):
        expected = pytest.raises(AssertionError) if call == "expect_none" else nullcontext()
        with pytest.warns(UserWarning, match=rf"{call} stops the event loop.*to_thread"), expected:
            asyncio.run(wait(call))


def test_a_forgotten_set_up_of_a_test_case_is_named():
    class TestShop(SandboxTestCase):
        def setUp(self):
            self.sandbox.key()

        def runTest(self):  # noqa: N802
            raise AssertionError

    result = unittest.TestResult()
    unittest.TestSuite([TestShop()]).run(result)

    assert "call super().setUp() first in your setUp()" in result.errors[0][1]
