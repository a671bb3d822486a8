"""The sandbox for test cases of `unittest`."""

import os
import unittest
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, ClassVar

from uat_sandbox.errors import SandboxError
from uat_sandbox.seeds import seed_of
from uat_sandbox.server import Server, sandbox_at, sandbox_server
from uat_sandbox.world import World


class SandboxTestCase(unittest.TestCase):
    """Each test has a fresh world as `self.sandbox`; the tests of a class share a server.

    `sandbox_options` are the arguments of `Server.world` for these worlds. The environment names
    the sandbox as it does for the plugin: SANDBOX_URL, SANDBOX_COMMAND. Otherwise it runs in this
    process.
    """

    sandbox_options: ClassVar[Mapping[str, Any]] = {}
    sandbox_server: ClassVar[Server]
    _sandbox: World | None = None

    @classmethod
    def setUpClass(cls) -> None:
        """Start the server."""
        super().setUpClass()
        cls.sandbox_server = cls.enterClassContext(_find_sandbox())

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


def _find_sandbox() -> AbstractContextManager[Server]:
    """Return the sandbox that the environment names, or else one in this process."""
    named = {name: value for name, value in os.environ.items() if value}
    if "SANDBOX_URL" not in named:
        return sandbox_server(command=named.get("SANDBOX_COMMAND"))
    return sandbox_at(
        named["SANDBOX_URL"],
        token=named.get("SANDBOX_TOKEN"),
        control_url=named.get("SANDBOX_CONTROL_URL"),
        receiver_host=named.get("SANDBOX_RECEIVER_HOST"),
        origin="from SANDBOX_URL in the environment",
    )
