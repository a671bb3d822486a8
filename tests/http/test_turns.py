"""While webhooks are being sent, requests take turns, and each is answered as ever."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.http.talking import HOST, Client, Serving, eventually, payment, request, serving

CLIENTS = 40


@pytest.fixture
def served() -> Iterator[Serving]:
    """A server that waits for a receiver that never answers."""
    with serving() as server, socket.socket() as silent:
        silent.bind((HOST, 0))
        silent.listen(100)
        control(server, "endpoints", {"url": f"http://{HOST}:{silent.getsockname()[1]}/"})
        with Client(server.port) as client:
            # The first makes the Host known, the second the headers.
            for _ in range(2):
                assert client.ask(read(server, "accounts")).status == 200
            assert client.ask(payment(server, amount=10_000)).status == 200
        yield server


@pytest.fixture
def clients(served: Serving) -> Iterator[list[Client]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Client(served.port)) for _ in range(CLIENTS)]


def control(served: Serving, what: str, body: object) -> None:
    sent = json.dumps(body)
    lines = (
        f"POST /_sandbox/worlds/default/{what} HTTP/1.1",
        "host: localhost",
        "content-type: application/json",
        f"content-length: {len(sent)}",
    )
    with Client(served.port) as client:
        assert client.ask("\r\n".join([*lines, "", sent]).encode()).status == 201


def read(served: Serving, what: str) -> bytes:
    return request(served, f"GET /v1/{what}")


def amounts(served: Serving) -> list[int]:
    with Client(served.port) as client:
        page = client.ask(read(served, "transactions?limit=200").replace(b"/v1", b"/v2"))
    return sorted(one["total_amount"] for one in json.loads(page.body)["transactions"])


def test_each_connection_gets_its_own_answers_in_the_order_of_its_requests(served, clients):
    for begin in (20_000, 30_000):
        for number, client in enumerate(clients):
            client.send(payment(served, amount=begin + number))
            client.send(payment(served, amount=begin + 100 + number))
        for number, client in enumerate(clients):
            first, second = client.answer(), client.answer()
            assert json.loads(first.body)["total_amount"] == begin + number
            assert json.loads(second.body)["total_amount"] == begin + 100 + number


def test_a_payment_whose_client_leaves_while_it_waits_is_made(served, clients):
    sent = [payment(served, amount=20_000 + number) for number in range(CLIENTS)]
    for client, one in zip(clients, sent, strict=True):
        client.send(one)
        client.__exit__()

    eventually(lambda: len(amounts(served)) == CLIENTS + 1)

    assert amounts(served)[1:] == [20_000 + number for number in range(CLIENTS)]


def test_what_has_to_wait_longer_does_so_after_its_turn(served, clients):
    for _ in range(CLIENTS // 2):
        control(served, "scenario/next", {"outcome": "approved", "delay_ms": 50})

    for number, client in enumerate(clients):
        client.send(payment(served, amount=20_000 + number))
    paid = [json.loads(client.answer().body) for client in clients]

    assert [one["total_amount"] for one in paid] == [20_000 + n for n in range(CLIENTS)]
    assert all(client.ask(read(served, "accounts")).status == 200 for client in clients)


def test_heads_that_are_new_and_addresses_that_are_not_plain_are_answered_too(served, clients):
    for number, client in enumerate(clients):
        client.send(payment(served, f"x-number: {number}", amount=20_000 + number))
    assert [json.loads(client.answer().body)["total_amount"] for client in clients] == [
        20_000 + number for number in range(CLIENTS)
    ]
    for client in clients:
        client.send(read(served, "accounts?limit=1"), read(served, "nothing"))
    assert {client.answer().status for client in clients} == {200}
    assert {client.answer().status for client in clients} == {404}
