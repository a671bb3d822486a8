"""Bytes on a real socket that are almost requests: the server answers, goes on, and stays small."""

import json
import re
import socket
import struct
from itertools import pairwise
from random import Random
from time import monotonic
from typing import Any

from tests.conftest import NOW
from tests.soak.report import Found
from tests.soak.rounds import Round
from tests.soak.served import Target
from tests.soak.spoiling import HEADERS, spoilt_bytes

BURSTS = 40
CONNECTIONS_MAX = 6
LEFT_OPEN_MAX = 40
PATIENCE_S = 0.25
"""So long a connection is read from when nothing comes; some requests have no answer."""

HEALTH_S = 5.0
"""The server has to say that it is well within this time, however busy the machine is."""

GROWTH_MB_MAX = 150
STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")


def play(round: Round) -> None:
    """One server, burst upon burst."""
    dice = round.dice("bytes")
    with round.means.serving(round.folder, "--clock", NOW) as target:
        attack = Attack(round, target, dice)
        before = target.rss_mb()
        try:
            for _ in round.steps(BURSTS):
                attack.burst()
                attack.check_health()
        finally:
            attack.close()
        after = target.rss_mb()
        if before is not None and after is not None and after - before > GROWTH_MB_MAX:
            raise Found(f"the server grew from {before:.0f} to {after:.0f} MB")


class Attack:
    """What is sent to one server. Some connections are left open, their requests unfinished."""

    def __init__(self, round: Round, target: Target, dice: Random) -> None:
        self._round, self._target, self._dice = round, target, dice
        self._open: list[socket.socket] = []
        self._requests = list(_requests(target.facts))

    def close(self) -> None:
        for one in self._open:
            one.close()

    def burst(self) -> None:
        """Some connections, each with bytes that are almost a request, or several."""
        for _ in range(self._dice.randint(1, CONNECTIONS_MAX)):
            sent = self._bytes()
            self._round.exchanges.append(f"request: {sent[:1500]!r}")
            self._send(sent)

    def check_health(self) -> None:
        """Raises Found unless the server says in time that it is well."""
        began = monotonic()
        host = f"127.0.0.1:{self._target.port}".encode()
        asked = b"GET /_sandbox/health HTTP/1.1\r\nhost: %b\r\nconnection: close\r\n\r\n" % host
        try:
            with self._connected(HEALTH_S) as connection:
                connection.sendall(asked)
                answer = _read(connection, until_closed=True)
        except OSError as error:
            raise Found(f"the server does not say that it is well: {error!r}") from None
        if not answer.startswith(b"HTTP/1.1 200 "):
            raise Found(f"the server is not well: {answer[:300]!r}")
        if monotonic() - began > HEALTH_S:
            raise Found(f"the server took {monotonic() - began:.1f} s to say that it is well")

    # --- connections

    def _connected(self, timeout_s: float) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self._target.port), timeout=timeout_s)

    def _send(self, sent: bytes) -> None:
        dice = self._dice
        ends = dice.choice(["half", "half", "half", "reset", "open", "closed"])
        connection = self._connected(HEALTH_S)
        connection.settimeout(PATIENCE_S)
        self._round.counts["requests"] += 1
        try:
            for piece in self._pieces(sent):
                connection.sendall(piece)
            if ends == "open" and len(self._open) < LEFT_OPEN_MAX:
                self._open.append(connection)
                return
            if ends == "half":
                connection.shutdown(socket.SHUT_WR)
                self._note(_read(connection))
            elif ends == "closed":
                self._note(_read(connection))
            elif ends == "reset":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            # The server may close a connection on which there is no sense.
            self._round.counts["silent"] += 1
        finally:
            if connection not in self._open:
                connection.close()

    def _pieces(self, sent: bytes) -> list[bytes]:
        if self._dice.random() < 0.6 or len(sent) < 3:
            return [sent]
        cuts = sorted(self._dice.randrange(1, len(sent)) for _ in range(self._dice.randint(1, 6)))
        edges = [0, *cuts, len(sent)]
        return [sent[a:b] for a, b in pairwise(edges)]

    def _note(self, answer: bytes) -> None:
        statuses = [int(one) for one in STATUS.findall(answer)]
        if not statuses:
            self._round.counts["silent"] += 1
        for status in statuses:
            if status >= 500:
                raise Found(f"bytes on a socket were answered with {status}: {answer[:500]!r}")
            if status >= 200:
                self._round.counts[f"{status // 100}xx"] += 1

    # --- bytes

    def _bytes(self) -> bytes:
        dice = self._dice
        sent = dice.choice(self._requests)
        how = dice.randrange(9)
        if how < 3:
            return spoilt_bytes(sent, dice, times=dice.choice([1, 3, 12]))
        if how == 3:
            return b"".join(dice.choice(self._requests) for _ in range(dice.randint(2, 12)))
        if how == 4:
            several = b"".join(dice.choice(self._requests) for _ in range(4))
            return spoilt_bytes(several, dice)
        if how == 5:
            return sent[: dice.randrange(len(sent))]
        if how == 6:
            return _with_odd_head(sent, dice)
        if how == 7:
            return _with_odd_framing(sent, dice)
        return bytes(dice.randrange(256) for _ in range(dice.choice([1, 30, 3000])))


def _read(connection: socket.socket, *, until_closed: bool = False) -> bytes:
    """What comes until the server closes, or has said nothing for a while."""
    found = b""
    while True:
        try:
            piece = connection.recv(65_536)
        except TimeoutError:
            if until_closed:
                raise
            return found
        if not piece:
            return found
        found += piece


def _requests(facts: dict[str, Any]) -> list[bytes]:
    """Requests as clients send them, to both surfaces, with and without a body."""
    key = facts["keys"]["partner"]
    terminal = sorted(facts["terminals"].values())[0]
    sale = {"amount": 1000, "terminal_id": terminal}
    world = "/_sandbox/worlds/default"
    asked: list[tuple[str, str, Any]] = [
        ("GET", "/v2/transactions?limit=5", None),
        ("POST", "/v3/payment", sale),
        ("POST", "/v3/preauth", sale | {"event_id": "once"}),
        ("POST", "/v5/apikeys", {"name": "a", "permissions": ["payments:read"]}),
        ("DELETE", "/v5/apikeys/none", None),
        ("GET", "/_sandbox/health", None),
        ("GET", f"{world}/requests?limit=3", None),
        ("GET", f"{world}/snapshot", None),
        ("GET", f"{world}/stream", None),
        ("GET", f"{world}/wait?timeout_s=1", None),
        ("PUT", f"{world}/scenario", {"name": "approve_all"}),
        ("PUT", f"{world}/switches", {"triggers.enabled": False}),
        ("POST", f"{world}/messages", {"event_type": "account.updated"}),
        ("POST", f"{world}/clock/advance", {"by": "1s"}),
        ("PUT", f"{world}/snapshot", {"file": {}}),
        ("POST", "/_sandbox/worlds", {"id": "another"}),
    ]
    return [_request(facts, key, *one) for one in asked]


def _request(facts: dict[str, Any], key: str, method: str, path: str, body: Any) -> bytes:
    host = str(facts["url"]).removeprefix("http://")
    lines = [f"{method} {path} HTTP/1.1", f"host: {host}", "accept: application/json"]
    lines.append(f"x-service-apikey: {key}")
    payload = b""
    if body is not None:
        payload = json.dumps(body).encode()
        lines += ["content-type: application/json", f"content-length: {len(payload)}"]
    return "\r\n".join([*lines, "", ""]).encode() + payload


def _with_odd_head(sent: bytes, dice: Random) -> bytes:
    """More headers, odd ones, or so many and so long that they are too many."""
    head, _, body = sent.partition(b"\r\n\r\n")
    name, values = dice.choice(HEADERS)
    more = [
        name + b": " + dice.choice(values),
        b"upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==",
        b"upgrade: h2c\r\nconnection: upgrade, http2-settings\r\nhttp2-settings: AAMAAABk",
        b"x-long: " + b"a" * dice.choice([7_000, 70_000, 300_000]),
        b"\r\n".join(b"x-%d: a" % number for number in range(dice.choice([50, 150, 3000]))),
        b"host: elsewhere.example",
        b" folded: yes",
        b"x\x00y: z",
        b"expect: 100-continue",
        b"connection: close",
    ]
    return head + b"\r\n" + dice.choice(more) + b"\r\n\r\n" + body


def _with_odd_framing(sent: bytes, dice: Random) -> bytes:
    """A body whose length is told in another way, wrongly, or twice."""
    head, _, body = sent.partition(b"\r\n\r\n")
    bare = re.sub(rb"\r\ncontent-length: \d+", b"", head)
    chunked = b"%x\r\n%b\r\n0\r\n" % (len(body), body)
    return dice.choice(
        [
            bare + b"\r\ntransfer-encoding: chunked\r\n\r\n" + chunked + b"\r\n",
            bare + b"\r\ntransfer-encoding: chunked\r\n\r\n" + chunked + b"x-trailer: a\r\n\r\n",
            head + b"\r\ntransfer-encoding: chunked\r\n\r\n" + chunked + b"\r\n",
            bare + b"\r\ncontent-length: %d\r\n\r\n" % (len(body) + 10) + body,
            bare + b"\r\ncontent-length: %d\r\n\r\n" % max(0, len(body) - 3) + body,
            bare + b"\r\ncontent-length: -1\r\n\r\n" + body,
            head + b"\r\ncontent-length: 5\r\n\r\n" + body,
            bare + b"\r\ntransfer-encoding: gzip, chunked\r\n\r\n" + chunked + b"\r\n",
            sent.replace(b"\r\n", b"\n"),
            sent.replace(b"HTTP/1.1", dice.choice([b"HTTP/1.0", b"HTTP/2.0", b"HTTP/0.9", b"ICY"])),
        ]
    )
