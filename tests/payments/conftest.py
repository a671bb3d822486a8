"""Fixtures for tests of payments."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.driving import InProcess
from tests.support.open_requests import OpenRequests


@pytest.fixture
def requests(sandbox: InProcess) -> Iterator[OpenRequests]:
    """The sandbox of the test, for requests that stay open."""
    with asyncio.Runner() as runner:
        yield OpenRequests(sandbox, runner)
