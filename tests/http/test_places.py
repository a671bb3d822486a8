"""How many connections a server takes."""

from contextlib import ExitStack

import pytest

from tests.driving import serving
from tests.http.talking import HEALTH, LAST_HEALTH, Client, port_of


@pytest.mark.proves("assumed D25-places")
def test_a_request_on_one_connection_too_many_is_a_503_until_another_has_left():
    with serving("--connections-max", "2") as served, ExitStack() as stack:
        port = port_of(served.url)
        first, second = (stack.enter_context(Client(port)) for _ in range(2))
        assert [one.ask(HEALTH).status for one in (first, second)] == [200, 200]
        with Client(port) as third:
            assert third.ask(HEALTH).status == 503
        for _ in range(3):
            assert second.ask(LAST_HEALTH).status == 200
            assert second.is_closed()
            second = stack.enter_context(Client(port))
