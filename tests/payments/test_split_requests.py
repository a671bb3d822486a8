"""Requests whose head and body arrive in separate packets."""

import json
import socket
from urllib.parse import urlsplit

from tests.driving import Served

CONNECTIONS = 200


def send_in_two_packets(served: Served, head: bytes, body: bytes) -> bytes:
    """Send the body after the server has read the head; return the first line of the answer."""
    address = urlsplit(served.url)
    place = (address.hostname or "", address.port or 0)
    with socket.create_connection(place, timeout=10) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(head)
        # An answer on another connection shows that the server has read what came before.
        assert served.control("GET", "/health").status_code == 200
        connection.sendall(body)
        with connection.makefile("rb") as answer:
            return answer.readline()


def test_every_payment_whose_body_follows_its_head_is_answered(served):
    body = json.dumps(
        {"amount": 1000, "terminal_id": served.facts["terminals"]["merchant"]}
    ).encode()
    head = (
        "POST /v3/payment HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        f"x-service-apikey: {served.key('merchant')}\r\ncontent-length: {len(body)}\r\n\r\n"
    ).encode()

    answers = [send_in_two_packets(served, head, body) for _ in range(CONNECTIONS)]

    assert answers == [b"HTTP/1.1 200 OK\r\n"] * CONNECTIONS
