"""Misuses of a server, by mistake or on purpose, that could delay other clients.

Each misuse is prepared untimed, and then runs while other clients send requests. A refusal is not a
failure. A misuse may run for a minute or two.
"""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from benchmarks.serving import HOST, Answer, BenchmarkError, Connection, Server, request
from benchmarks.users import WITHIN_S, WORLD, User

MIB: Final = 1_048_576
_PATH: Final = f"/_sandbox/worlds/{WORLD}"

Do = Callable[[], None]
Prepare = Callable[[Server], Do]
"""Prepares the misuse; returns the function that runs it."""


@dataclass(frozen=True, slots=True)
class Misuse:
    """One misuse. `options` are those that the server is started with."""

    name: str
    prepare: Prepare
    options: tuple[str, ...] = ()


# --- cost before proof -------------------------------------------------------------------------


def card_soup(server: Server) -> Do:
    """1 MiB without a key that could be cards all over."""
    sent = request("POST", "/v3/payment", body=b"4-" * (MIB // 2 - 100))
    return lambda: _send_on(server, [sent], waits=True)


def header_soup(server: Server) -> Do:
    """The same in a path and in a header."""
    path = b"4-" * 30_000
    sent = b"GET /" + path + b" HTTP/1.1\r\nhost: x\r\nx-note: " + path + b"\r\n\r\n"
    return lambda: _send_on(server, [sent], waits=True)


def huge_header(server: Server) -> Do:
    """One header of 50 MB."""
    pieces = [b"GET / HTTP/1.1\r\nhost: x\r\na: ", *[b"x" * 1_000_000] * 50, b"\r\n\r\n"]
    return lambda: _send_on(server, pieces)


def huge_url(server: Server) -> Do:
    """A path of 50 MB."""
    pieces = [b"GET /", *[b"x" * 1_000_000] * 50, b" HTTP/1.1\r\nhost: x\r\n\r\n"]
    return lambda: _send_on(server, pieces)


def many_headers(server: Server) -> Do:
    """A million header fields."""
    pieces = [b"GET / HTTP/1.1\r\nhost: x\r\n", *[b"a: b\r\n" * 100_000] * 10, b"\r\n"]
    return lambda: _send_on(server, pieces)


def many_trailers(server: Server) -> Do:
    """A million trailer fields after a chunked body."""
    head = b"POST /v3/payment HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n"
    return lambda: _send_on(server, [head, *[b"a: b\r\n" * 100_000] * 10, b"\r\n"])


def idle_connections(server: Server) -> Do:
    """900 connections that begin a request and never end it."""

    def do() -> None:
        held = []
        with suppress(OSError):
            for _ in range(900):
                held.append(socket.create_connection((HOST, server.port), timeout=5))
                held[-1].sendall(b"GET / HTTP/1.1\r\nhost: x\r\n")
        time.sleep(2)
        for one in held:
            one.close()

    return do


def bodies_at_once(server: Server) -> Do:
    """300 bodies of 1 MiB, which are all complete at the same moment."""
    user = User(server)
    # Much to parse, and valid except for unknown fields.
    filler = json.dumps({f"note {number}": "x" * 30 for number in range(20_000)})[1:-1]
    body = f'{{"amount":100,"terminal_id":"{user.terminals["merchant"]}",{filler}}}'.encode()
    body = body[:-1] + b" " * (MIB - len(body) - 10) + b"}"
    headers = {"x-service-apikey": user.keys["merchant"]}
    sent = request("POST", "/v3/payment", headers=headers, body=body)

    def do() -> None:
        connections = [Connection(server.port, within_s=WITHIN_S) for _ in range(300)]
        for connection in connections:
            connection.send(sent[:-1])
        for connection in connections:
            connection.send(sent[-1:])
        for connection in connections:
            connection.read()

    return do


# --- long work of one world --------------------------------------------------------------------


def generated_data(server: Server) -> Do:
    """As many generated merchants as allowed."""
    user = User(server)
    wanted = {"merchants": 10_000, "terminals_per_merchant": 20, "locations_per_merchant": 20}

    def do() -> None:
        answer = user.control("POST", "/_sandbox/worlds", {"invent": wanted}, status=0)
        if answer.status == 400:
            wanted.update(_most_that_may_be(answer.json()["message"]))
            user.control("POST", "/_sandbox/worlds", {"invent": wanted}, status=201)

    return do


def _most_that_may_be(message: str) -> dict[str, int]:
    """The largest amount of generated data that this refusal allows."""
    most = int("".join(char for char in message.partition("at most ")[2] if char.isdigit()))
    return {"merchants": most // 20}


def snapshot_read(server: Server) -> Do:
    """Save a world of 10,000 payments, and another time."""
    user = User(server)
    user.take(10_000)
    return lambda: _repeat(2, lambda: user.control("GET", f"{_PATH}/snapshot"))


def snapshot_put(is_edited: bool) -> Prepare:
    """Put a world of 10,000 payments back, as it was written or edited."""

    def prepare(server: Server) -> Do:
        user = User(server)
        user.take(10_000)
        body = user.control("GET", f"{_PATH}/snapshot").body
        if is_edited:
            body = body.replace(b'"version":"', b'"version":"x', 1)
        sent = request("PUT", f"{_PATH}/snapshot", body=body)
        return lambda: _must(user.ask(sent), 200)

    return prepare


def snapshot_of_nothing(server: Server) -> Do:
    """36 MB of documents that are none."""
    user = User(server)
    documents = b",".join(b'"%d":{}' % number for number in range(2_800_000))
    head = b'{"file":{"1":{"program":"uat-sandbox","format":1}},"accounts":{'
    sent = request("PUT", f"{_PATH}/snapshot", body=head + documents + b"}}")
    return lambda: _must(user.ask(sent), 400)


def saved_world_as_fixture(server: Server) -> Do:
    """Make and reset worlds that begin as a saved one of 10,000 payments."""
    user = User(server)

    def do() -> None:
        user.control("POST", f"{_PATH}/reset")
        user.control("POST", "/_sandbox/worlds", {"id": "another"}, status=201)

    return do


def deletion(server: Server) -> Do:
    """Delete a world of 40,000 payments."""
    user = User(server)
    user.take(40_000)
    return lambda: _must(user.control("DELETE", _PATH, status=204), 204)


def broad_searches(server: Server) -> Do:
    """The first questions of many kinds about 200,000 payments."""
    user = User(server)
    user.take(200_000)
    questions = (
        "/v2/transactions",
        "/v2/transactions?status=captured&min_amount=500",
        "/v2/transactions?card_brand=Visa",
        "/v2/transactions?sort_by=total_amount",
        "/v2/transactions?search_term=nowhere",
        "/v2/transactions?max_amount=900&payment_method=emv",
    )

    def do() -> None:
        for question in questions:
            _must(user.ask(user.get(question)), 200)
        user.control("GET", f"{_PATH}/messages")
        user.control("GET", f"{_PATH}/messages?event_type=transaction.refund")
        user.control("GET", f"{_PATH}/coverage")

    return do


def many_terminals(server: Server) -> Do:
    """The first searches over 40,000 terminals, and a sale among them."""
    each = {"terminals_per_merchant": 20, "locations_per_merchant": 20}
    user = User(server, invent={"merchants": 2_000, **each})

    def do() -> None:
        _must(user.ask(user.get("/v2/terminals?search=desk")), 200)
        _must(user.ask(user.get("/v2/terminals?status=active&search=coffee")), 200)
        _must(user.ask(user.get("/v1/locations?search=a")), 200)
        _must(user.ask(user.payment()), 200)

    return do


def large_batch(server: Server) -> Do:
    """Read a batch with its 20,000 transactions, the first time and once more."""
    user = User(server)
    user.take(20_000)
    found = user.ask(user.get("/v1/batches", "merchant")).json()["batches"]
    path = f"/v1/batches/{found[0]['id']}"
    read = user.get(f"{path}?include_transactions=true", "merchant")

    def do() -> None:
        _must(user.ask(read), 200)
        _must(user.ask(read), 200)

    return do


def advance(server: Server) -> Do:
    """Move a clock over the moment at which 10,000 authorizations run out."""
    user = User(server, clock="2026-03-01T00:00:00Z")
    user.take(10_000, "preauth")
    return lambda: _must(user.control("POST", f"{_PATH}/clock/advance", {"by": "60d"}), 200)


def many_endpoints(server: Server) -> Do:
    """As many endpoints as allowed, and sales that each of them receives."""
    user = User(server)
    for _ in range(2_000):
        body = {"url": "http://127.0.0.1:9/"}
        if user.control("POST", f"{_PATH}/endpoints", body, status=0).status != 201:
            break
    return lambda: user.take(20)


def endless_answers(server: Server) -> Do:
    """Five endpoints of a receiver that answers 103 without end."""

    def do() -> None:
        with _endless_receiver() as port:
            user = User(server)
            for _ in range(5):
                body = {"url": f"http://127.0.0.1:{port}/"}
                user.control("POST", f"{_PATH}/endpoints", body, status=201)
            user.take(3)
            time.sleep(8)
            user.control("DELETE", _PATH, status=204)

    return do


def abandoned_waits(server: Server) -> Do:
    """50 waits whose clients have gone, among 3,000 sales, and 50 sales more."""
    user = User(server)
    user.take(3_000)
    path = f"{_PATH}/wait?event_type=transaction.refund&timeout_s=300"

    def do() -> None:
        for _ in range(50):
            with Connection(server.port) as connection:
                connection.send(request("GET", path))
        time.sleep(0.5)
        user.take(50)

    return do


def near_misses(server: Server) -> Do:
    """Up to 20,000 next outcomes that never match, and 50 sales."""
    user = User(server)
    body = json.dumps({"outcome": "insufficient_funds", "amount": 999_999}).encode()
    sent = [request("POST", f"{_PATH}/scenario/next", body=body)] * 20_000
    with Connection(server.port, within_s=WITHIN_S) as connection:
        for answer in connection.ask_all(sent):
            if answer.status != 200 and answer.status != 201:
                break
    return lambda: user.take(50)


def nothing(server: Server) -> Do:
    """No misuse: the delays of the machine itself."""
    return lambda: time.sleep(5)


MISUSES: Final[tuple[Misuse, ...]] = (
    Misuse("a body of 1 MiB that could be cards, without a key", card_soup),
    Misuse("a path and a header that could be cards", header_soup),
    Misuse("a header of 50 MB", huge_header),
    Misuse("a path of 50 MB", huge_url),
    Misuse("a million header fields", many_headers),
    Misuse("a million trailer fields", many_trailers),
    Misuse("900 connections that never end a request", idle_connections),
    Misuse("300 bodies of 1 MiB at once", bodies_at_once),
    Misuse("a receiver that answers 103 without end", endless_answers),
    Misuse("50 waits that were left behind, and 50 sales", abandoned_waits),
    Misuse("20,000 next outcomes that never fit, and 50 sales", near_misses),
    Misuse("2,000 endpoints, or as many as may be, and 20 sales", many_endpoints),
    Misuse("as many merchants generated as allowed", generated_data),
    Misuse("saving a world of 10,000 payments", snapshot_read),
    Misuse("loading 10,000 payments as they were saved", snapshot_put(is_edited=False)),
    Misuse("loading 10,000 payments that were edited", snapshot_put(is_edited=True)),
    Misuse("loading 36 MB of empty documents", snapshot_of_nothing),
    Misuse("resetting and making worlds of 10,000 payments", saved_world_as_fixture, ("saved",)),
    Misuse("deleting a world of 40,000 payments", deletion),
    Misuse("first searches over 200,000 payments", broad_searches),
    Misuse("first searches over 40,000 terminals", many_terminals),
    Misuse("a batch with 20,000 transactions", large_batch),
    Misuse("a clock moved over 10,000 deadlines", advance),
)


# --- helpers -----------------------------------------------------------------------------------


def _send_on(server: Server, pieces: Sequence[bytes], *, waits: bool = False) -> None:
    """Send as much as the server takes; it may close before that."""
    with suppress(OSError), socket.create_connection((HOST, server.port), timeout=30) as one:
        for piece in pieces:
            one.sendall(piece)
        one.recv(65536)
    if not waits:
        # Accepted work must be finished first.
        time.sleep(1)


def _repeat(count: int, do: Callable[[], object]) -> None:
    for _ in range(count):
        do()


def _must(answer: Answer, status: int) -> None:
    if answer.status != status:
        raise BenchmarkError(f"{status} was expected, not {answer.status}: {answer.body[:200]!r}")


@contextmanager
def _endless_receiver() -> Iterator[int]:
    """A receiver that answers every request with 103 until it is closed; its port."""
    listener = socket.create_server((HOST, 0))
    over = threading.Event()
    hint = b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" * 1_000

    def answer(one: socket.socket) -> None:
        with suppress(OSError), one:
            one.recv(65536)
            while not over.is_set():
                one.sendall(hint)

    def accept() -> None:
        with suppress(OSError):
            while True:
                one, _ = listener.accept()
                threading.Thread(target=answer, args=(one,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        over.set()
        listener.close()
