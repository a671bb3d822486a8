"""Saving, loading, resetting and deleting a world exclude each other."""

import asyncio
import time

from sandbox.cluster.server import SPREAD_S, is_idle
from tests.driving import fresh
from tests.worlds.worlds import add_world


def test_one_after_the_other_has_the_lock_of_a_world_and_worlds_are_apart():
    worlds = fresh().sandbox.worlds

    async def work() -> list[str]:
        seen = []

        async def use(name: str, who: str) -> None:
            async with worlds.lock_of(name):
                seen.append(f"{who} in")
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                seen.append(f"{who} out")
                assert worlds.lock_of(name).locked()

        await asyncio.gather(use("x", "first"), use("x", "second"), use("y", "other"))
        assert not worlds.lock_of("x").locked()
        return seen

    seen = asyncio.run(work())

    of_x = [one for one in seen if "other" not in one]
    assert of_x == ["first in", "first out", "second in", "second out"]
    assert seen.index("other in") < seen.index("first out")


def test_a_world_does_not_move_to_another_server_while_it_is_restored(sandbox):
    add_world(sandbox, "unused")
    worlds = sandbox.sandbox.worlds
    world = worlds.get("unused")
    world.touched_s = time.monotonic() - 2 * SPREAD_S

    async def restore() -> bool:
        async with worlds.lock_of("unused"):
            return is_idle(worlds, world)

    assert is_idle(worlds, world)
    assert not asyncio.run(restore())
