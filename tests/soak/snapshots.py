"""Saved worlds that somebody edited, cut or made up: refused in words, or as good as any."""

import json
import re
from hashlib import sha256
from random import Random
from typing import Any

from tests.soak.client import Client, in_process
from tests.soak.looking import act_everywhere, look_everywhere
from tests.soak.report import Found
from tests.soak.rounds import Round
from tests.soak.spoiling import at, places, spoilt, spoilt_bytes
from tests.state.filling import fill

STEPS = 12
BESIDE = "beside"
SNAPSHOT = "/_sandbox/worlds/default/snapshot"
HEAD = "file"
DIGEST = re.compile(rb'("sha256":")[0-9a-f]{64}')


def play(round: Round) -> None:
    """A world with everything in it, saved; its document spoilt, and put in its place."""
    # While a clock runs things fall due, so that no two snapshots need be equal.
    with in_process(round, round.random, mode="frozen") as client:
        fill(client)
        assert client.control("POST", "/worlds", {"id": BESIDE}).status == 201
        dice = round.dice("documents")
        saved = _saved(client)
        beside = _saved(client, BESIDE)
        for _ in round.steps(STEPS):
            _try(client, _changed(saved, dice), saved)
            if _saved(client, BESIDE) != beside:
                raise Found("a snapshot changed the world beside")


def _saved(client: Client, world: str = "default") -> bytes:
    answer = client.control("GET", f"/worlds/{world}/snapshot")
    assert answer.status == 200, answer.body
    return answer.body


def _put(client: Client, document: bytes) -> int:
    answer = client.ask("PUT", SNAPSHOT, body=document)
    if answer.status not in (200, 400):
        raise Found(f"a snapshot was answered with {answer.status}")
    if answer.status == 400 and not answer.json()["message"]:
        raise Found("a snapshot was refused without a word")
    return answer.status


def _try(client: Client, document: bytes, saved: bytes) -> None:
    """Put the document there: what is refused changes nothing, what is taken works."""
    if _put(client, document) == 400:
        client.round.counts["refused"] += 1
        if _saved(client) != saved:
            raise Found("a snapshot that was refused changed the world")
        return
    client.round.counts["loaded"] += 1
    look_everywhere(client)
    again = _saved(client)
    if _put(client, again) != 200 or _saved(client) != again:
        raise Found("what was saved of a snapshot that was taken cannot be loaded again")
    act_everywhere(client)
    look_everywhere(client)
    if _put(client, saved) != 200 or _saved(client) != saved:
        raise Found("there is no way back to the snapshot that was saved first")


# --- documents --------------------------------------------------------------------------------


def _changed(saved: bytes, dice: Random) -> bytes:
    """The document, changed in a few places, with a digest that fits or with the old one."""
    how = dice.random()
    if how < 0.1:
        return spoilt_bytes(saved, dice)
    document: dict[str, Any] = json.loads(saved)
    for _ in range(dice.choice([1, 1, 1, 2, 4])):
        document = spoilt(document, dice, _place(document, dice))
        if not isinstance(document, dict) or not document:
            break
    changed = _written(document)
    return _digested(changed) if how > 0.5 else changed


def _place(document: dict[str, Any], dice: Random) -> tuple[Any, ...]:
    """Somewhere in the document: each table is as likely as any, however long it is."""
    table = dice.choice(list(document))
    inner = at(document, (table,))
    if not inner or not isinstance(inner, dict | list) or dice.random() < 0.05:
        return (table,)
    part = dice.choice(list(inner) if isinstance(inner, dict) else list(range(len(inner))))
    return (table, part, *dice.choice(places(inner[part])))


def _written(document: Any) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _digested(written: bytes) -> bytes:
    """With the digest of its tables in its head, as if that were as it was written."""
    found = DIGEST.search(written)
    if found is None:
        return written
    # The tables follow the object of the head.
    begin = written.find(b"}},", found.end()) + len(b"}},")
    digest = sha256(written[begin:-1]).hexdigest().encode()
    return written[: found.start()] + found[1] + digest + written[found.end() :]
