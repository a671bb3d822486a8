"""Long work as steps: a generator that yields where other work may run."""

from collections.abc import Generator
from typing import Any, TypeVar

T = TypeVar("T")

Steps = Generator[Any, None, T]
"""Work that yields after each step, and returns the result; a step may yield work for a thread."""

OFTEN = 16
"""Work on many small things stops after so many of them."""
