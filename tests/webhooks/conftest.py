"""Fixtures for tests of webhooks."""

import pytest

from tests.driving import Served
from tests.webhooks.hooked import Hooked, another_world
from tests.webhooks.receiving import receiving


@pytest.fixture
def hooked(served: Served) -> Hooked:
    """A fresh world of a served sandbox, its clock frozen."""
    return another_world(served)


@pytest.fixture
def receiver(hooked):
    """A receiver on a socket, to which the endpoint `e` of the world leads."""
    with receiving() as receiver:
        hooked.add_endpoint(url=receiver.url, id="e")
        yield receiver
