"""A world of each test's own, at the server that all tests share."""

import re

import pytest

from tests.cli.asking import Shell, shell_in
from tests.driving import Served


@pytest.fixture
def shell(served: Served, request: pytest.FixtureRequest) -> Shell:
    """A shell whose world is the test's own."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())[-64:].strip("-")
    return shell_in(served, name)
