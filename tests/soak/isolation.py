"""A world that lives beside another in which anything is asked for, and notices nothing of it.

The same story is told to a world of a second server, which has nothing beside it. The two worlds
must be equal, byte for byte: in their snapshot, journal, messages, and in all else that is shown.
Both are of one seed with the world that is made noise in, so that their ids are those of the
neighbour: whatever is asked for there names records that are here too.
"""

import json
from random import Random
from typing import Any

from tests.directory.making import a_credential, a_location, a_terminal, an_account
from tests.platform.minting import mint
from tests.soak.client import Client, Exchange, another, in_process
from tests.soak.report import Found
from tests.soak.requesting import play_requests
from tests.soak.rounds import Round
from tests.state.filling import SCENARIO, STATES
from tests.support.payments import close_batch, in_state, paid

BESIDE = "beside-and-left-alone"
"""The id of the neighbour, which no made-up request ever names."""

EVERY = 20
"""After so many requests the story goes on, and the worlds are compared."""

SHOWN = (
    *("", "/requests", "/messages", "/coverage", "/switches", "/clock", "/scenario"),
    *("/scenario/next", "/taps", "/endpoints"),
)
LISTED = ("/v2/transactions", "/v1/batches", "/v5/apikeys", "/v2/terminals", "/v1/accounts")
MAY_NAME_IT = ("/_sandbox/worlds", "/_sandbox/coverage", "/_sandbox/find")
"""What shows all worlds of a server."""


def play(round: Round) -> None:
    """Noise in the world `default`; beside it, and elsewhere alone, the same story."""
    with in_process(round, round.random) as noisy:
        alone = another(noisy)
        pair = [_begun(one) for one in (noisy, alone)]
        stories = [round.dice("story") for _ in pair]
        secrets = [key for _, key in _world_of(pair[0]).cast.keys.values()]
        noisy.also = lambda exchange: _must_not_show(exchange, [BESIDE, *secrets])

        def each(step: int) -> None:
            if step % EVERY == EVERY - 1:
                for world, dice in zip(pair, stories, strict=True):
                    _go_on(world, dice)
                _compare(round, *pair)

        play_requests(noisy, each=each)


def _world_of(client: Client) -> Any:
    return client.sandbox.worlds.get(client.world)


def _begun(server: Client) -> Client:
    """The world that nothing must happen to, begun on the server."""
    wanted = {"id": BESIDE, "clock": "2026-03-01T12:00:00.000Z"}
    assert server.control("POST", "/worlds", wanted).status == 201
    world = server.beside(BESIDE)
    world.control("POST", f"/worlds/{BESIDE}/endpoints", {"url": "http://beside.example/all"})
    return world


def _go_on(world: Client, dice: Random) -> None:
    """The next thing that happens in the story, whatever it comes to."""
    try:
        _happen(world, dice)
    except Found:
        raise
    except AssertionError:
        # What happened before may stand in its way: a queued outcome, a blocked terminal.
        return


def _happen(world: Client, dice: Random) -> None:
    """A payment, a record, a change of the world."""
    control = f"/worlds/{world.world}"
    name = f"x{dice.randrange(10**8)}"
    what = dice.randrange(11)
    if what < 4:
        in_state(world, dice.choice(STATES))
    elif what == 4:
        an_account(world, name=name)
        a_location(world, name=name)
    elif what == 5:
        a_terminal(world, tid=f"{dice.randrange(10**8):08}")
        a_credential(world)
    elif what == 6:
        mint(world, ["payments:read"], by="partner", name=name)
    elif what == 7:
        world.control("POST", f"{control}/scenario/next", {"outcome": "expired_card"})
        world.control("PUT", f"{control}/scenario", SCENARIO)
    elif what == 8:
        world.control("PUT", f"{control}/switches", {"webhooks.time_scale": dice.randrange(9)})
        world.control("POST", f"{control}/clock/advance", {"by": f"{dice.randrange(9)}h"})
    elif what == 9:
        close_batch(world, paid(world, at="second_merchant")["batch_id"] or "none")
    else:
        sample = {"event_type": "account.updated", "changes": {"name": name}}
        world.control("POST", f"{control}/messages", sample)


def _compare(round: Round, one: Client, other: Client) -> None:
    round.counts["compared"] += 1
    for world in (one, other):
        # Until all is sent that is to be sent now.
        world.control("POST", f"/worlds/{BESIDE}/clock/advance", {"by": "0s"})
    looks = [(f"/_sandbox/worlds/{BESIDE}{path}", None) for path in ("/snapshot", *SHOWN)]
    for path, key in [*looks, *((path, "partner") for path in LISTED)]:
        mine, theirs = (_seen(world, path, key) for world in (one, other))
        if mine != theirs:
            raise Found(f"the world beside differs in GET {path}: {_difference(mine, theirs)}")


def _seen(world: Client, path: str, key: str | None) -> bytes:
    world.ignores_shape = True
    try:
        answer = world.ask("GET", path, key=key)
    finally:
        world.ignores_shape = False
    if not path.endswith("/requests"):
        return b"%d %b" % (answer.status, answer.body)
    shown = answer.json()
    for entry in shown["requests"]:
        # How long it took is of the machine.
        entry["duration_ms"] = 0
    return json.dumps(shown).encode()


def _difference(one: bytes, other: bytes) -> str:
    pairs = enumerate(zip(one, other, strict=False))
    place = next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
    if b'"sha256"' in one[max(0, place - 80) : place]:
        # A digest differs with what follows it.
        rest = _difference(one[place + 64 :], other[place + 64 :])
        return f"after the digest {rest}"
    around = slice(max(0, place - 80), place + 120)
    return f"at {place}: {one[around]!r}, left alone {other[around]!r}"


def _must_not_show(exchange: Exchange, words: list[str]) -> None:
    """Raises Found where an answer tells something of the neighbour that was not asked for."""
    if exchange.path in MAY_NAME_IT or exchange.start is None:
        return
    for word in words:
        if word.encode() in exchange.body and word.encode() not in exchange.payload:
            raise Found(f"{exchange.method} {exchange.path} shows {word!r} of the world beside")
