"""Requests on one connection: in their order, in pieces, and after a client has left; how many."""

from contextlib import ExitStack

import pytest

from tests import driving
from tests.driving import InProcess
from tests.http.talking import HEALTH, LAST_HEALTH, Client, head_of, payment, serving


def test_answers_of_one_packet_come_in_the_order_of_their_requests():
    late = {"outcome": "approved", "amount": 100, "delay_ms": 200}
    with serving() as served, Client(served.port) as client:
        InProcess(served.sandbox).control("POST", "/worlds/default/scenario/next", late)
        slow = payment(served, amount=100)
        quick = [payment(served, amount=200 + number) for number in range(5)]

        client.send(quick[0] + slow + b"".join(quick[1:]))
        answers = [client.answer() for _ in range(6)]

    assert [one.status for one in answers] == [200] * 6
    amounts = [one.json()["total_amount"] for one in answers]
    assert amounts == [200, 100, 201, 202, 203, 204]
    ids = [one.headers["x-sandbox-request-id"] for one in answers]
    assert ids == sorted({*ids})


def test_a_request_with_connection_close_gets_its_answer_and_the_close(served):
    sent = head_of("GET /v1/accounts", "connection: close", key=served.key("merchant"))
    for version in (b"HTTP/1.0", b"HTTP/1.1"):
        with Client(served.port) as client:
            answer = client.ask(sent.replace(b"HTTP/1.1", version))

            assert (answer.status, answer.headers["connection"]) == (200, "close")
            assert client.is_closed()


@pytest.mark.proves("assumed D25-places")
def test_a_request_on_one_connection_too_many_is_a_503_until_another_has_left():
    with driving.serving("--connections-max", "2") as served, ExitStack() as stack:
        port = served.port
        first, second = (stack.enter_context(Client(port)) for _ in range(2))
        assert [one.ask(HEALTH).status for one in (first, second)] == [200, 200]
        with Client(port) as third:
            refused = third.ask(HEALTH)
            assert (refused.status, refused.headers["retry-after"]) == (503, "1")
            assert third.is_closed()
        for _ in range(3):
            assert second.ask(LAST_HEALTH).status == 200
            assert second.is_closed()
            second = stack.enter_context(Client(port))
