"""A world of each test's own, at the server that all tests share."""

import re
from typing import Any

import pytest

from tests.cli.asking import add_world
from tests.driving import Served


@pytest.fixture
def world(served: Served, request: pytest.FixtureRequest) -> dict[str, Any]:
    return add_world(served, re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())[-64:].strip("-"))
