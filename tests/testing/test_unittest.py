"""The test kit without pytest: test cases of `unittest`, and plain scripts."""

import unittest

import sandbox
import uat_sandbox
from tests.testing.pytesting import run_script
from uat_sandbox.cases import SandboxTestCase


class Sales(SandboxTestCase):
    sandbox_options = {"seed": 7}  # noqa: RUF012 - as a user writes it

    def test_a_decline(self):
        self.sandbox.next("insufficient_funds")
        body = {"amount": 1000, "terminal_id": self.sandbox.terminal()}
        payment = self.sandbox.client().post("/v3/payment", json=body).json()
        self.assertEqual(payment["status"], "declined")  # noqa: PT009 - this is unittest
        self.sandbox.webhooks.wait_for("transaction.sale", status="declined")
        self.assertEqual(self.sandbox.view["seed"], 7)  # noqa: PT009


def test_a_case_has_a_world_for_each_test_and_leaves_none():
    result = unittest.TestResult()

    unittest.defaultTestLoader.loadTestsFromTestCase(Sales).run(result)

    assert (result.testsRun, result.failures, result.errors) == (1, [], [])


def test_a_script_works_where_pytest_is_not_installed(tmp_path):
    program = """
from uat_sandbox import sandbox_server
with sandbox_server() as server, server.world(seed=1) as world:
    body = {"amount": 1000, "terminal_id": world.terminal()}
    print(world.client().post("/v3/payment", json=body).json()["status"])
    world.webhooks.wait_for("transaction.sale", status="captured")
"""

    done = run_script(tmp_path, program)

    assert (done.code, done.output) == (0, "captured\n")


def test_the_kit_has_the_version_of_the_server():
    assert uat_sandbox.__version__ == sandbox.__version__
