"""Endpoints that nobody can connect to, while a clock is moved ahead. Source: assumed 8.3-retry."""

import contextlib
import socket
from collections.abc import Iterator

from tests.webhooks.calling import DOCUMENTED_S
from tests.webhooks.hooked import waits
from tests.webhooks.receiving import receiving


@contextlib.contextmanager
def refusing() -> Iterator[int]:
    """A port that is taken, and on which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def test_every_attempt_at_an_endpoint_out_of_reach_has_its_moment(hooked):
    with refusing() as port:
        hooked.endpoint(f"http://127.0.0.1:{port}/", id="e")
        ids = [hooked.emit() for _ in range(3)]
        for id in ids:
            hooked.tried(id, "e")
        hooked.pass_by(days=2)

    for id in ids:
        delivery = hooked.delivery(id, "e")
        planned = zip(waits(delivery), DOCUMENTED_S, strict=True)
        assert all(least <= wait <= least * 1.2 for wait, least in planned)
        assert (delivery["status"], len(delivery["attempts"])) == ("failed", 8)
        assert all(one["error"].startswith("Cannot connect") for one in delivery["attempts"])
        assert {one["status_code"] for one in delivery["attempts"]} == {None}


def test_an_endpoint_that_comes_back_gets_the_next_attempt(hooked):
    with refusing() as port, receiving(200) as receiver:
        hooked.endpoint(f"http://127.0.0.1:{port}/", id="e")
        id = hooked.emit()
        hooked.tried(id, "e")
        hooked.pass_by(minutes=1)
        hooked.ask("PATCH", "/endpoints/e", {"url": receiver.url}, status=200)
        hooked.pass_by(minutes=10)

    assert receiver.ids() == [id]
    assert [one["status_code"] for one in hooked.delivery(id, "e")["attempts"]] == [None, None, 200]
