"""Fixtures for tests of webhooks."""

import pytest

from tests.conftest import NOW
from tests.driving import Served
from tests.webhooks.hooked import Hooked
from tests.webhooks.receiving import receiving


@pytest.fixture
def hooked(served: Served) -> Hooked:
    """A fresh world of a served sandbox, its clock frozen."""
    answer = served.control("POST", "/worlds", json={"clock": NOW})
    assert answer.status_code == 201, answer.text
    return Hooked(served, answer.json()["id"], answer.json())


@pytest.fixture
def receiver(hooked):
    """A receiver on a socket, to which the endpoint `e` of the world leads."""
    with receiving() as receiver:
        hooked.endpoint(receiver.url, id="e")
        yield receiver
