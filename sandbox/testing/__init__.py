"""The test kit: a sandbox for tests, with pytest, with unittest, or in a script.

Nothing heavy is imported before the first sandbox is needed.
"""

from sandbox.testing.control import SandboxError, SandboxRefused
from sandbox.testing.server import Server, sandbox_at, sandbox_server
from sandbox.testing.waiting import NothingCame
from sandbox.testing.webhooks import Webhook, Webhooks
from sandbox.testing.world import World
from sandbox.testing.world_control import Journal

__all__ = [
    "Journal",
    "NothingCame",
    "SandboxError",
    "SandboxRefused",
    "Server",
    "Webhook",
    "Webhooks",
    "World",
    "sandbox_at",
    "sandbox_server",
]
