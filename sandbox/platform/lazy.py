"""Modules that are imported when they are first used, so that a server starts sooner.

The rows of a table name functions and classes of dozens of modules. A server needs few of them at
its start, and many of them never.
"""

from importlib import import_module
from typing import Any


class LazyModule:
    """A module that is imported when the first of its names is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        """The name in the module, which is imported now at the latest."""
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(import_module(self._name), name)
        setattr(self, name, found)
        return found


class LazyFunctions:
    """A module whose functions can be named, and that is imported when one of them is called."""

    def __init__(self, name: str) -> None:
        self._module = LazyModule(name)

    def __getattr__(self, name: str) -> "LazyFunction":
        """The function with this name."""
        if name.startswith("__"):
            raise AttributeError(name)
        return LazyFunction(self._module, name)


class LazyFunction:
    """A function of a module that may not be imported yet."""

    __slots__ = ("_module", "_name")

    def __init__(self, module: LazyModule, name: str) -> None:
        self._module = module
        self._name = name

    @property
    def function(self) -> Any:
        """The function itself."""
        return getattr(self._module, self._name)

    def __call__(self, *args: Any) -> Any:
        """Call it."""
        return self.function(*args)


def itself(function: Any) -> Any:
    """A function that may be lazy, for those who want to look at it."""
    return function.function if isinstance(function, LazyFunction) else function
