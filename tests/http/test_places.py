"""How many connections there may be, and how the operator gets in nevertheless."""

import json
import logging
import resource
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import pytest

from sandbox.descriptors import FILES, Shares
from tests.http.talking import (
    HEALTH,
    LAST_HEALTH,
    Answer,
    Client,
    Serving,
    eventually,
    quickly,
    serving,
)
from tests.processes import Process

FEW = Shares(connections=3, reserved=2, webhooks=1)
READ = b"GET /v5/apikeys HTTP/1.1\r\nhost: localhost\r\n\r\n"


@contextmanager
def full(**options: object) -> Iterator[tuple[Serving, list[Client]]]:
    """A server all of whose places for clients are taken, by those that are given."""
    with serving(places=FEW, **options) as sandbox, ExitStack() as stack:  # type: ignore[arg-type]
        clients = [stack.enter_context(Client(sandbox.port)) for _ in range(FEW.connections)]
        eventually(lambda: sandbox.pool.count == FEW.connections)
        yield sandbox, clients


def asked_anew(port: int, request: bytes) -> Answer:
    with Client(port) as client:
        answer = client.ask(request)
        assert client.is_closed()
        return answer


@pytest.mark.proves("assumed D25-places")
def test_a_client_too_many_is_a_503_and_the_others_go_on():
    with full() as (sandbox, clients):
        answer = asked_anew(sandbox.port, READ)

        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert answer.headers["connection"] == "close"
        shown = json.loads(answer.body)
        assert shown["error"] == "unavailable"
        assert "--connections-max" in shown["detail"]
        for client in clients:
            assert client.ask(READ).status == 401


def test_when_a_client_leaves_the_next_is_served():
    with full() as (sandbox, clients):
        clients[0].__exit__()
        eventually(lambda: sandbox.pool.count < FEW.connections)

        with Client(sandbox.port) as client:
            assert client.ask(READ).status == 401
            assert client.ask(READ).status == 401


@pytest.mark.proves("assumed D25-places")
def test_the_control_surface_answers_though_all_places_are_taken():
    with full() as (sandbox, _):
        for _ in range(20):
            assert asked_anew(sandbox.port, HEALTH).status == 200


def test_a_path_that_only_looks_like_the_control_surface_is_not_served():
    with full() as (sandbox, _):
        assert asked_anew(sandbox.port, READ.replace(b"/v5", b"/_sandboxes")).status == 503
        encoded = HEALTH.replace(b"_sandbox", b"%5fsandbox")
        assert asked_anew(sandbox.port, encoded).status == 200


@pytest.mark.proves("assumed D25-places")
def test_a_connection_that_asks_for_nothing_does_not_keep_a_reserved_place():
    with full() as (sandbox, _), ExitStack() as stack:
        silent = [stack.enter_context(Client(sandbox.port)) for _ in range(50)]

        assert asked_anew(sandbox.port, HEALTH).status == 200

        assert silent[0].answer().status == 503
        assert silent[0].is_closed()


def test_a_connection_that_has_asked_keeps_its_reserved_place():
    wait = (
        b"GET /_sandbox/worlds/default/wait?event_type=transaction.sale&timeout_s=60 HTTP/1.1\r\n"
    )
    with full() as (sandbox, _), ExitStack() as stack:
        waiting = [stack.enter_context(Client(sandbox.port)) for _ in range(FEW.reserved)]
        for client in waiting:
            client.send(wait + b"host: localhost\r\n\r\n")
        eventually(lambda: sandbox.pool.count == FEW.connections + FEW.reserved)
        eventually(lambda: not sandbox.pool.has_silent())

        answer = asked_anew(sandbox.port, HEALTH)

        assert answer.status == 503
        assert sandbox.pool.count == FEW.connections + FEW.reserved


@pytest.mark.proves("assumed D25-places")
def test_a_control_port_of_its_own_has_the_reserve_to_itself():
    with full(has_control_port=True) as (sandbox, _), ExitStack() as stack:
        for _ in range(5):
            assert asked_anew(sandbox.port, READ).status == 503
        silent = [stack.enter_context(Client(sandbox.control_port)) for _ in range(10)]

        assert asked_anew(sandbox.control_port, HEALTH).status == 200
        assert asked_anew(sandbox.port, HEALTH).status == 503
        assert silent[0].answer().status == 503


def test_the_log_says_once_that_connections_are_refused(caplog):
    with caplog.at_level(logging.WARNING), full() as (sandbox, _):
        for _ in range(20):
            asked_anew(sandbox.port, READ)

    (said,) = [one.getMessage() for one in caplog.records if one.name == "sandbox.http"]
    assert "3 connections are open" in said
    assert "--connections-max" in said


def test_the_log_says_once_that_requests_are_no_http(caplog):
    with caplog.at_level(logging.WARNING), serving() as sandbox:
        for _ in range(20):
            assert asked_anew(sandbox.port, b"nonsense\r\n\r\n").status == 400

    assert len(caplog.records) == 1


def test_the_log_counts_what_it_did_not_say(caplog):
    times = quickly(warning_s=0.5)
    with caplog.at_level(logging.WARNING), serving(times=times) as sandbox:
        for _ in range(20):
            assert asked_anew(sandbox.port, b"nonsense\r\n\r\n").status == 400
        eventually(lambda: sum(map(_counted, caplog.messages)) == 20)

    assert len(caplog.messages) < 20


def _counted(said: str) -> int:
    """How many requests a line of the log is about."""
    return int(said.split()[0]) if " more in " in said else 1


def test_the_log_says_nothing_of_other_protocols(caplog):
    upgrade = b"\r\nconnection: upgrade\r\nupgrade: %b\r\n\r\n"
    with caplog.at_level(logging.WARNING), serving() as sandbox:
        for protocol, status in ((b"websocket", 400), (b"h2c", 200)):
            with Client(sandbox.port) as client:
                request = HEALTH.replace(b"\r\n\r\n", upgrade % protocol)
                assert client.ask(request).status == status

    assert caplog.records == []


# --- what the process may open ----------------------------------------------------------------


def limited(files: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))


def refused(files: int, *options: str, **env: str) -> str:
    """What a server says that does not start with so many files."""
    process = Process(
        ["serve", "--port", "0", *options], before=partial(limited, files), env=env or None
    )
    try:
        _, errors = process.communicate(timeout=20)
        assert process.poll() == 2
        return errors
    finally:
        process.close()


@pytest.mark.parametrize(
    ("options", "env"),
    [(("--connections-max", "200"), {}), ((), {"SANDBOX_CONNECTIONS_MAX": "200"})],
    ids=["option", "environment"],
)
def test_more_connections_than_files_are_refused_in_words(options, env):
    said = refused(FILES + 100, *options, **env)

    assert "--connections-max 200" in said
    assert "enough for 59 connections" in said
    assert "ulimit -n" in said


def test_too_few_files_are_refused_in_words():
    assert "ulimit -n" in refused(FILES)


def test_the_option_sets_how_many_are_served():
    process = Process(["serve", "--port", "0", "--log-format", "json", "--connections-max", "1"])
    try:
        port = int(json.loads(process.stdout.readline())["url"].rpartition(":")[2])
        with Client(port) as only:
            assert only.ask(READ).status == 401
            assert asked_anew(port, READ).status == 503
            assert asked_anew(port, LAST_HEALTH).status == 200
            assert only.ask(READ).status == 401
    finally:
        process.terminate()
        process.close()
