"""Snapshots with a mistake in them, made from a seed, and everything that is asked of a world."""

import asyncio
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import Any

from sandbox.app import build
from sandbox.domain.clock import ClockSetting
from sandbox.domain.instants import parse_rfc3339
from sandbox.domain.webhooks import Sent
from sandbox.settings import Settings
from tests.conftest import NOW
from tests.driving import InProcess, Response, on_loop

Document = dict[str, Any]
Place = tuple[Any, ...]

NONSENSE: tuple[Any, ...] = (
    *(None, "", "x", "\u00e9", "\ud83c", "a\r\nb: c", "\x00", "{}", "%00", "-", "msg_", "9" * 400),
    *(-1, 0, 1, 7, 1.5, -0.0, 1e308, 10**30, -(10**30), 2**63, 2**53 + 1, True, False),
    *([], [1], [None], ["x"], [[]], {}, {"a": 1}, {"": None}),
    *("9999-12-31T23:59:59.999Z", "0001-01-01T00:00:00.000Z", "2026-03-01T12:00:00.000Z"),
    *("2026-02-30T00:00:00Z", "00000000-0000-4000-8000-000000000000", "http://[", "http://a:99999"),
)


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Every place in a document."""
    if place:
        yield place
    if isinstance(value, dict):
        for name in value:
            yield from places(value[name], (*place, name))
    elif isinstance(value, list):
        for at, one in enumerate(value):
            yield from places(one, (*place, at))


def at(value: Any, place: Place) -> Any:
    for step in place:
        value = value[step]
    return value


def mutated(text: bytes, luck: random.Random) -> Document:
    """The snapshot with one to three mistakes in it."""
    document: Document = json.loads(text)
    for _ in range(luck.choice((1, 1, 1, 2, 3))):
        tables = [table for table in document if table != "file"]
        table = luck.choice(tables)
        within = [(table, *place) for place in places(document[table])] or [(table,)]
        luck.choice(MISTAKES)(document, luck.choice(within), luck)
    return document


def _replaced(document: Document, place: Place, luck: random.Random) -> None:
    at(document, place[:-1])[place[-1]] = luck.choice(NONSENSE)


def _removed(document: Document, place: Place, luck: random.Random) -> None:
    del at(document, place[:-1])[place[-1]]


def _from_elsewhere(document: Document, place: Place, luck: random.Random) -> None:
    """A value that is right in another place of this kind, or of another."""
    other = luck.choice(list(places(document[luck.choice(list(document))], ())) or [()])
    table = luck.choice([name for name in document if _has(document[name], other)] or [place[0]])
    found = at(document[table], other) if _has(document[table], other) else None
    at(document, place[:-1])[place[-1]] = json.loads(json.dumps(found))


def _has(value: Any, place: Place) -> bool:
    try:
        at(value, place)
    except (LookupError, TypeError):
        return False
    return True


def _from_a_neighbour(document: Document, place: Place, luck: random.Random) -> None:
    """The value that another document of the table has there."""
    table = document[place[0]]
    if len(place) < 3 or not table:
        return
    others = [one for one in table.values() if _has(one, place[2:])]
    if others:
        found = json.loads(json.dumps(at(luck.choice(others), place[2:])))
        at(document, place[:-1])[place[-1]] = found


def _nudged(document: Document, place: Place, luck: random.Random) -> None:
    value = at(document, place)
    if isinstance(value, bool) or value is None:
        value = not value
    elif isinstance(value, int | float):
        value += luck.choice((-1, 1, 1000, -1000, 2**31))
    elif isinstance(value, str) and value:
        where = luck.randrange(len(value))
        value = value[:where] + luck.choice("0aZ_-. \u00e9") + value[where + 1 :]
    at(document, place[:-1])[place[-1]] = value


def _twice(document: Document, place: Place, luck: random.Random) -> None:
    """A document that stands in its table twice, or a value that stands in its list twice."""
    whole = document[place[0]]
    if len(place) >= 2 and isinstance(whole, dict):
        copied = json.loads(json.dumps(whole[place[1]]))
        whole[str(luck.choice((0, 1, 10**6, 10**13)))] = copied
        if isinstance(copied, dict) and luck.random() < 0.7:
            copied["_id"] = luck.choice(("other", "", "a/b"))


def _misnamed(document: Document, place: Place, luck: random.Random) -> None:
    holder = at(document, place[:-1])
    if isinstance(holder, dict):
        holder[luck.choice(("id", "status", "other", ""))] = holder.pop(place[-1])


Mistake = Callable[[Document, Place, random.Random], None]
MISTAKES: tuple[Mistake, ...] = (
    *(_replaced, _replaced, _removed, _from_elsewhere, _from_a_neighbour, _nudged, _nudged),
    *(_twice, _misnamed),
)


def digested(document: Document) -> bytes:
    """The document as the sandbox writes it, its digest worked out anew."""
    head = next(iter(document.pop("file").values()))
    tables = json.dumps(document, separators=(",", ":"))[1:-1].encode()
    head["sha256"] = sha256(tables).hexdigest()
    return b'{"file":{"1":%b},%b}' % (json.dumps(head, separators=(",", ":")).encode(), tables)


# --- trying them ------------------------------------------------------------------------------

ANSWER_S = 5
"""So long an answer is waited for: a rule that was mutated may have payments wait for a tap."""


class Taking:
    """Takes every webhook, without a network. Fulfils `Sending`."""

    async def send(self, url: str, body: bytes, headers: Mapping[str, str]) -> Sent:
        return Sent(status_code=204, duration_ms=0, response="", error=None)

    async def close(self) -> None:
        pass


@contextmanager
def a_looping_sandbox(**more: Any) -> Iterator[InProcess]:
    """A fresh sandbox on a loop of its own, its clock frozen."""
    frozen = ClockSetting(now=parse_rfc3339(NOW), mode="frozen")
    loop = asyncio.new_event_loop()
    sandbox = build(Settings(clock=frozen, **more), sender=Taking())
    saver = sandbox.worlds.saver
    try:
        yield InProcess(sandbox, run=on_loop(loop, ANSWER_S))
        if saver is not None:
            loop.run_until_complete(saver.saved())
    finally:
        if saver is not None:
            saver.file.close()
        under_way = asyncio.all_tasks(loop)
        for task in under_way:
            task.cancel()
        if under_way:
            loop.run_until_complete(asyncio.wait(under_way))
        loop.close()


def failures(full: bytes, seed: int, count: int) -> tuple[list[str], dict[int, int]]:
    """Every answer of 500 or more to so many mutated snapshots, and how many were taken or not.

    What is taken is asked everything that a world can be asked.
    """
    luck, found, statuses = random.Random(seed), list[str](), dict[int, int]()
    for number in range(count):
        body = digested(mutated(full, luck))
        with a_looping_sandbox() as sandbox:
            put = sandbox.ask("PUT", "/_sandbox/worlds/default/snapshot", body=body)
            statuses[put.status] = statuses.get(put.status, 0) + 1
            answers = asked(sandbox) if put.status == 200 else iter([("PUT", put)])
            with suppress(TimeoutError):
                for what, answer in answers:
                    if answer.status >= 500:
                        found.append(f"seed {seed}, number {number}: {what}: {answer.status}")
    return found, statuses


# --- everything that is asked -----------------------------------------------------------------

LISTS = {
    "/v2/transactions": "transaction_id",
    "/v1/transactions": "transaction_id",
    "/v1/accounts": "id",
    "/v2/accounts": "id",
    "/v1/accounts/credentials": "id",
    "/v2/terminals": "terminal_id",
    "/v1/locations": "id",
    "/v1/batches": "id",
    "/v5/apikeys": "id",
}
QUERIES = ("limit=100", "search=a&limit=5", "q=x", "sort=created_at", "status=captured", "name=o")
CONTROLLED = (
    *("", "/messages", "/endpoints", "/scenario", "/scenario/next", "/switches", "/clock"),
    *("/requests", "/taps", "/coverage", "/snapshot"),
)


def asked(world: InProcess) -> Iterator[tuple[str, Response]]:
    """The answers to everything that is asked of a world, first what changes nothing."""
    yield from _read(world, QUERIES)
    for amount, more in ((1000, {}), (4321, {}), (55, {}), (900_051, {"card": "tok_refund_fails"})):
        for at in ("merchant", "surcharge_merchant"):
            terminal = world.sandbox.worlds.default.cast.terminals.get(at, at)
            body = {"amount": amount, "terminal_id": terminal} | more
            yield f"sale {at}", world.ask("POST", "/v3/payment", key="psp", json_body=body)
    yield from _acted(world)
    yield from _steered(world)
    yield "advance", world.control("POST", f"/worlds/{world.world}/clock/advance", {"by": "60d"})
    yield from _read(world, QUERIES[:1])
    yield "reset", world.control("POST", f"/worlds/{world.world}/reset")
    yield "after the reset", world.ask("GET", "/v2/transactions", key="psp")


def _steered(world: InProcess) -> Iterator[tuple[str, Response]]:
    base = f"/worlds/{world.world}"
    sample = {"event_type": "transaction.sale"}
    yield "sample", world.control("POST", f"{base}/messages", sample)
    for one in _items(world.control("GET", f"{base}/endpoints"), "endpoints"):
        path = f"{base}/endpoints/{one['id']}"
        yield path, world.control("PATCH", path, {"description": "changed"})
        yield path, world.control("POST", f"{path}/rotate-secret", {})
    yield "snapshot", (saved := world.control("GET", f"{base}/snapshot"))
    put = world.ask("PUT", f"/_sandbox{base}/snapshot", body=saved.body)
    yield "snapshot again", put


def _acted(world: InProcess) -> Iterator[tuple[str, Response]]:
    for key in ("psp", "partner", "merchant"):
        for path, id in LISTS.items():
            for one in _items(world.ask("GET", path, key=key, query="limit=100"), "")[:25]:
                if path == "/v2/transactions":
                    for action in ("refund", "capture", "reverse"):
                        body = {"amount": 1}
                        to = f"/v3/payments/{one[id]}/{action}"
                        yield to, world.ask("POST", to, key=key, json_body=body)
                elif path == "/v1/batches":
                    to = f"{path}/{one[id]}/close"
                    yield to, world.ask("POST", to, key=key)
                elif path != "/v1/transactions":
                    to = f"{path}/{one[id]}"
                    yield f"PUT {to}", world.ask("PUT", to, key=key, json_body={"name": "new"})


def _read(world: InProcess, queries: Sequence[str]) -> Iterator[tuple[str, Response]]:
    base = f"/worlds/{world.world}"
    for path in CONTROLLED:
        yield path, world.control("GET", base + path)
    yield "health", world.control("GET", "/health")
    for lookup in _lookups(world):
        yield "/v5/apikeys", world.ask("GET", "/v5/apikeys", key=f"svc_uat_{lookup}_{'0' * 32}")
    messages = world.control("GET", f"{base}/messages", query="limit=200")
    yield "messages", messages
    for one in _items(messages, "messages"):
        path = f"{base}/messages/{one['id']}"
        yield path, world.control("GET", path)
    for key in ("admin", "psp", "merchant"):
        for path, id in LISTS.items():
            for query in queries:
                answer = world.ask("GET", path, key=key, query=query)
                yield f"{path}?{query}", answer
            if key == "merchant":
                continue
            for one in _items(world.ask("GET", path, key=key, query="limit=100"), ""):
                yield f"{path}/{{}}", world.ask("GET", f"{path}/{one[id]}", key=key)
                if path == "/v1/transactions":
                    history = f"{path}/{one[id]}/history"
                    yield history, world.ask("GET", history, key=key)


def _lookups(world: InProcess) -> list[str]:
    """What may lead to a key of the world."""
    saved = world.control("GET", f"/worlds/{world.world}/snapshot").json()
    found = [one["lookup"] for one in saved["api_keys"].values()]
    return [lookup for lookup in found if lookup.isalnum() and lookup.isascii()]


def _items(answer: Response, name: str) -> list[Any]:
    if answer.status != 200:
        return []
    found = answer.json()
    if isinstance(found, dict):
        found = found.get(name) or next((v for v in found.values() if isinstance(v, list)), [])
    return list(found)
