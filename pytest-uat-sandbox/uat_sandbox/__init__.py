"""The test kit of uat-sandbox: a sandbox for tests, with pytest, with unittest, or in a script.

pytest loads this package in every run, so each name is imported when it is first used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uat_sandbox.errors import NothingCame, SandboxError, SandboxRefused
    from uat_sandbox.server import Server, sandbox_at, sandbox_server
    from uat_sandbox.webhooks import Webhook, Webhooks
    from uat_sandbox.world import World
    from uat_sandbox.world_control import Journal

__version__ = "0.2.0"

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

_MODULES = {
    "errors": ("NothingCame", "SandboxError", "SandboxRefused"),
    "server": ("Server", "sandbox_at", "sandbox_server"),
    "webhooks": ("Webhook", "Webhooks"),
    "world": ("World",),
    "world_control": ("Journal",),
}


def __getattr__(name: str) -> Any:
    """Return the public name, imported from its module."""
    from importlib import import_module

    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
