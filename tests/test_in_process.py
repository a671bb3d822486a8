"""Requests to the application in this process."""

import asyncio

import pytest

from tests.driving import InProcess
from tests.in_process import Exchange, http_scope, json_request


def test_an_application_that_waits_is_not_mistaken_for_one_that_answered():
    class Something:
        def __await__(self):
            yield self

    async def waits(scope, receive, send):
        await Something()

    with pytest.raises(RuntimeError, match="waited for something at /here"):
        Exchange(http_scope("GET", "/here")).run_now(waits)


def test_the_client_that_has_gone_gets_no_response_and_the_status_is_0():
    async def answers_nobody(scope, receive, send):
        assert (await receive())["body"] == b"{}"
        assert (await receive())["type"] == "http.disconnect"

    async def ask():
        exchange = json_request("POST", "/", {})
        exchange.gone = asyncio.Event()
        exchange.gone.set()
        return await asyncio.wait_for(exchange.run(answers_nobody), 5)

    assert asyncio.run(ask()).status == 0


def test_the_first_byte_of_a_response_is_told_of_once(sandbox: InProcess):
    told = []
    exchange = json_request("GET", "/_sandbox/health")
    exchange.on_answer = lambda: told.append(len(exchange.messages))

    answer = exchange.run_now(sandbox.sandbox.app)

    assert (answer.status, told) == (200, [0])
