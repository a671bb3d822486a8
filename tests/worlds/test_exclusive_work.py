"""Saving, loading, resetting and deleting a world exclude each other."""

import asyncio

from tests.driving import fresh


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

    assert [one for one in seen if "other" not in one] == [
        *("first in", "first out", "second in", "second out")
    ]
    assert seen.index("other in") < seen.index("first out")
