"""Requests on one connection: in their order, in pieces, and after a client has left."""

import json
import re
from itertools import pairwise

import pytest

from tests.driving import InProcess
from tests.http.talking import Client, payment, request, serving


@pytest.fixture(scope="module")
def served():
    with serving() as server:
        yield server


@pytest.fixture
def client(served):
    with Client(served.port) as connection:
        yield connection


def numbers(*answers) -> list[int]:
    return [int(one.headers["x-sandbox-request-id"].removeprefix("req_")) for one in answers]


def test_answers_of_one_packet_come_in_the_order_of_their_requests(client, served):
    late = {"outcome": "approved", "amount": 100, "delay_ms": 200}
    InProcess(served.sandbox).control("POST", "/worlds/default/scenario/next", late)
    slow = payment(served, amount=100)
    quick = [payment(served, amount=200 + number) for number in range(5)]

    client.send(quick[0] + slow + b"".join(quick[1:]))
    answers = [client.answer() for _ in range(6)]

    assert [one.status for one in answers] == [200] * 6
    amounts = [json.loads(one.body)["total_amount"] for one in answers]
    assert amounts == [200, 100, 201, 202, 203, 204]
    assert all(before < after for before, after in pairwise(numbers(*answers)))


def test_a_payment_that_waits_first_keeps_what_comes_behind_it_waiting(client, served):
    client.send(payment(served, "x-sandbox-outcome: processor_timeout"))
    client.send(request(served, "GET /v1/accounts"))

    first, second = client.answer(), client.answer()

    assert json.loads(first.body)["status_reason"] == "processor_timeout"
    assert second.status == 200


@pytest.mark.parametrize("cut", [1, 30, 120, -1])
def test_a_request_in_two_packets_is_answered_as_one_in_one(client, served, cut):
    sent = payment(served, amount=777)

    client.send(sent[:cut])
    whole = client.ask(sent[cut:])

    assert (whole.status, json.loads(whole.body)["total_amount"]) == (200, 777)
    assert client.ask(sent).status == 200


def test_a_head_request_is_answered_without_a_body(client, served):
    client.send(request(served, "HEAD /v1/accounts"))

    assert client.answer(has_body=False).status == 200
    assert client.ask(request(served, "GET /v1/accounts")).status == 200


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_client_that_says_it_is_the_last_request_gets_its_answer_and_the_end(served, version):
    sent = request(served, "GET /v1/accounts", "connection: close")

    with Client(served.port) as client:
        answer = client.ask(sent.replace(b"HTTP/1.1", f"HTTP/{version}".encode()))

        assert answer.status == 200
        assert answer.headers["connection"] == "close"
        assert client.is_closed()


def test_a_client_that_went_away_while_it_waited_does_not_hold_up_the_others(served):
    with Client(served.port) as gone:
        gone.send(payment(served, "x-sandbox-outcome: processor_timeout"))

    with Client(served.port) as client:
        assert client.ask(request(served, "GET /v1/accounts")).status == 200


def test_another_host_is_refused_also_on_a_connection_that_named_the_right_one(client, served):
    good = request(served, "GET /v1/accounts")
    bad = re.sub(rb"host: \w+", b"host: elsewhere.example", good)

    assert [client.ask(one).status for one in (good, bad, good)] == [200, 421, 200]
