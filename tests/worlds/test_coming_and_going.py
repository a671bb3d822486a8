"""How worlds are named, counted, dropped and deleted. Source: assumed D25."""

import asyncio
import gc
import time
import weakref
from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace

from sandbox.app import build
from sandbox.cluster.server import SPREAD_S, is_idle
from sandbox.settings import Settings
from sandbox.store.world_state import GeneratedData
from sandbox.worlds.elsewhere import WorldLost
from sandbox.worlds.event_stream import WAITED
from sandbox.worlds.spec import Limits, TooManyWorlds
from sandbox.worlds.world import World
from tests.driving import InProcess, fresh
from tests.state.filling import looping
from tests.support.directory import SUPPLIED_KEY, supplied


def test_the_keys_of_a_deleted_world_are_unknown_until_another_has_its_id(sandbox):
    one, other = sandbox.add_world("one"), sandbox.add_world("other")
    key = one.key("merchant")
    one.create_key(permissions=["all"], **supplied())

    answer = one.control("DELETE", "/worlds/one")

    assert (answer.status, answer.body) == (204, b"")
    assert other.get("/v5/apikeys", by=key).status == 401
    # One that was supplied is free for others.
    assert other.create_key(**supplied()).status == 201
    assert other.get("/v5/apikeys", by=SUPPLIED_KEY).status == 404
    assert other.get("/v5/apikeys", by="merchant").status == 200
    again = sandbox.add_world("one")
    assert again.key("merchant") == key
    names = [one["name"] for one in again.get("/v5/apikeys", by=key).json()]
    assert "made" not in names


def test_worlds_that_are_gone_and_servers_that_nothing_holds_leave_the_memory():
    sandbox = fresh()
    other, stores = sandbox.add_world("quokka"), []
    for _ in range(2):
        for outcome in (None, "do_not_honor", "timed_out"):
            other.pay(outcome=outcome)
        other.acted(other.held(), "capture")
        for query in ("status=captured&min_amount=5", "search_term=476173", "card_brand=Visa"):
            other.get("/v2/transactions", query=query).expect(200)
        # Attempts at it wait for a loop, which does not run.
        other.add_endpoint()
        other.pay()
        assert other.messages(offset=0)
        stores.append(weakref.ref(other.get_world().store))
        other.load(other.saved()).expect(200)
    other.manage("DELETE", "")
    server = weakref.ref(sandbox.sandbox.worlds)

    gc.collect()
    left = [one for one in gc.get_objects() if isinstance(one, World) and one.id == "quokka"]
    assert (left, [one() for one in stores]) == ([], [None, None])
    del sandbox, other
    gc.collect()
    assert server() is None


@pytest.mark.proves("assumed D25")
def test_ids_of_worlds_are_letters_digits_and_two_signs(sandbox):
    for id in ("", "A", "a b", "a/b", "a.b", "x" * 65, "\u00e9", "a\n", 5, ["a"]):
        refused = sandbox.control("POST", "/worlds", {"id": id})
        assert refused.error() == (400, "validation_error"), id
    assert sandbox.look("/worlds")["total"] == 1

    for id in ("a", "0", "-", "_", "a-b_c-9", "x" * 64):
        answer = sandbox.control("POST", "/worlds", {"id": id})
        assert (answer.status, answer.json()["id"]) == (201, id)


def test_worlds_without_an_id_are_numbered_past_those_that_are_taken(sandbox):
    sandbox.add_world("world-2")

    ids = [sandbox.control("POST", "/worlds", {}).json()["id"] for _ in range(3)]

    assert ids == ["world-1", "world-3", "world-4"]


@dataclass
class Host:
    """A machine: what its clock says, and a count of seconds that passes evenly."""

    clock_s: float = 1_790_000_000.0
    ticks_s: float = 0.0

    def serve(self, **settings: Any) -> InProcess:
        made = Settings(**settings)
        return InProcess(build(made, system_clock=lambda: self.clock_s, ticks=lambda: self.ticks_s))


@pytest.fixture
def host() -> Host:
    return Host()


@pytest.fixture
def small(host: Host) -> InProcess:
    """A server of at most three worlds."""
    return host.serve(limits=Limits(worlds_max=3))


def _ids(sandbox: InProcess) -> list[str]:
    return [world["id"] for world in sandbox.look("/worlds")["worlds"]]


def test_worlds_that_are_still_being_made_count_for_their_team(host):
    worlds = host.serve(limits=Limits(worlds_per_team_max=1)).sandbox.worlds
    large = replace(worlds.default.spec, generated_data=GeneratedData(merchants=1))

    async def make_two() -> list[Any]:
        both = (worlds.create_aside(replace(large, id=f"{name}@qa"), "qa") for name in "ab")
        return await asyncio.gather(*both, return_exceptions=True)

    made, refused = asyncio.run(make_two())

    assert made is worlds.get("a@qa")
    assert isinstance(refused, TooManyWorlds)
    assert worlds.get("b@qa") is None


def test_a_world_that_moves_away_while_it_is_reset_leaves_no_keys_behind(sandbox):
    worlds = sandbox.sandbox.worlds
    large = replace(worlds.default.spec, id="large", generated_data=GeneratedData(merchants=1))
    world = worlds.create(large)
    key = world.cast.plaintexts["merchant"]

    async def lose_while_resetting() -> None:
        resetting = asyncio.create_task(worlds.reset_aside(world))
        await asyncio.sleep(0)
        worlds.evict(world)
        with pytest.raises(WorldLost):
            await resetting

    asyncio.run(lose_while_resetting())

    assert worlds.is_free(key)


def test_a_world_does_not_move_to_another_server_while_it_is_restored(sandbox):
    worlds = sandbox.sandbox.worlds
    restored, other = (sandbox.add_world(id).get_world() for id in ("restored", "other"))
    for world in (restored, other):
        world.touched_s = time.monotonic() - 2 * SPREAD_S
        assert is_idle(worlds, world)

    async def restore() -> list[bool]:
        async with worlds.lock_of("restored"):
            return [is_idle(worlds, world) for world in (restored, other)]

    assert asyncio.run(restore()) == [False, True]


def test_a_world_in_which_a_client_waits_for_a_message_does_not_move_and_is_not_dropped(host):
    sandbox = host.serve()
    worlds, world = sandbox.sandbox.worlds, sandbox.add_world("awaited").get_world()
    host.ticks_s = time.monotonic() + DAY_S
    world.touched_s = time.monotonic() - 2 * SPREAD_S

    waiting = world.subscriptions.join(WAITED)

    assert not is_idle(worlds, world)
    assert _dropped(sandbox) == ["awaited", "default"]
    world.subscriptions.leave(waiting)
    assert is_idle(worlds, world)
    assert _dropped(sandbox) == ["default"]


def test_more_worlds_than_the_limit_are_refused_until_one_is_deleted(small):
    small.add_world("a")
    small.add_world("b")

    answer = small.control("POST", "/worlds", {"id": "c"})

    assert answer.error() == (409, "too_many_worlds")
    assert _ids(small) == ["default", "a", "b"]
    small.control("DELETE", "/worlds/a")
    assert small.control("POST", "/worlds", {"id": "c"}).status == 201


DAY_S = 86_400.0
YEAR_S = 365 * DAY_S


def test_worlds_unused_for_a_day_but_default_are_dropped_with_their_keys_and_make_room(small, host):
    forgotten, asked = small.add_world("a"), small.add_world("b")
    key = forgotten.key("merchant")
    # A jump of the host's clock makes no world older.
    host.clock_s += YEAR_S

    host.ticks_s += DAY_S - 1
    assert asked.get("/v5/apikeys", by="merchant").status == 200
    assert _ids(small) == ["default", "a", "b"]
    host.ticks_s += 2

    assert _ids(small) == ["default", "b"]
    assert small.get("/v5/apikeys", by=key).status == 401
    host.ticks_s += DAY_S - 3
    # Who looks at a world uses it.
    small.control("GET", "/worlds/b/messages")
    host.ticks_s += DAY_S - 1
    assert small.control("POST", "/worlds", {"id": "a"}).status == 201
    assert _ids(small) == ["default", "b", "a"]
    host.ticks_s += DAY_S + 1
    assert small.control("POST", "/worlds", {"id": "c"}).status == 201
    assert _ids(small) == ["default", "c"]
    assert small.get("/v5/apikeys", by="merchant").status == 200


def _dropped(sandbox: InProcess) -> list[str]:
    sandbox.sandbox.worlds.drop_unused()
    return sorted(world.id for world in sandbox.sandbox.worlds)


def test_a_stored_world_is_only_dropped_by_an_explicit_limit(tmp_path, host):
    store = tmp_path / "state.json"
    with looping(host.serve(store=store)) as sandbox:
        sandbox.add_world("a")
        host.clock_s += YEAR_S
        host.ticks_s += YEAR_S
        assert _dropped(sandbox) == ["a", "default"]

    host.ticks_s = 5.0  # another start of the host
    limits = Limits(unused_after_s=100.0)
    with looping(host.serve(store=store, limits=limits)) as sandbox:
        host.ticks_s += 99
        assert _dropped(sandbox) == ["a", "default"]
        host.ticks_s += 2
        assert _dropped(sandbox) == ["default"]
