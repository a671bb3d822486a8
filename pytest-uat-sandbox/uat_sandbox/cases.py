"""The sandbox for test cases of `unittest`."""

import unittest
from collections.abc import Mapping
from typing import Any, ClassVar

from uat_sandbox.server import Server, sandbox_server
from uat_sandbox.world import World


class SandboxTestCase(unittest.TestCase):
    """Each test has a fresh world as `self.sandbox`; the tests of a class share a server.

    `sandbox_options` are the arguments of `Server.world` for these worlds.
    """

    sandbox_options: ClassVar[Mapping[str, Any]] = {}
    sandbox_server: ClassVar[Server]
    sandbox: World

    @classmethod
    def setUpClass(cls) -> None:
        """Start the server."""
        super().setUpClass()
        cls.sandbox_server = cls.enterClassContext(sandbox_server())

    def setUp(self) -> None:
        """Make the world."""
        super().setUp()
        world = self.sandbox_server.world(**{"name": self.id()[-200:], **self.sandbox_options})
        self.sandbox = self.enterContext(world)
