"""The sandbox for test cases of `unittest`."""

import unittest
from collections.abc import Mapping
from typing import Any, ClassVar

from uat_sandbox.errors import SandboxError
from uat_sandbox.seeds import seed_of
from uat_sandbox.server import Server, sandbox_server
from uat_sandbox.world import World


class SandboxTestCase(unittest.TestCase):
    """Each test has a fresh world as `self.sandbox`; the tests of a class share a server.

    `sandbox_options` are the arguments of `Server.world` for these worlds.
    """

    sandbox_options: ClassVar[Mapping[str, Any]] = {}
    sandbox_server: ClassVar[Server]
    _sandbox: World | None = None

    @classmethod
    def setUpClass(cls) -> None:
        """Start the server."""
        super().setUpClass()
        cls.sandbox_server = cls.enterClassContext(sandbox_server())

    def setUp(self) -> None:
        """Create the world."""
        super().setUp()
        options = {"name": self.id()[-200:], "seed": seed_of(self.id()), **self.sandbox_options}
        self._sandbox = self.enterContext(self.sandbox_server.world(**options))

    @property
    def sandbox(self) -> World:
        """The world of this test. Raises SandboxError if `setUp` was not called."""
        if self._sandbox is None:
            raise SandboxError(
                "self.sandbox does not exist yet: call super().setUp() first in your setUp()"
            )
        return self._sandbox
