"""Fixtures for tests on a real socket."""

from collections.abc import Iterator

import pytest

from tests.driving import Served
from tests.http.talking import Client


@pytest.fixture
def client(served: Served) -> Iterator[Client]:
    """A connection to the server of all tests."""
    with Client(served.port) as client:
        yield client
