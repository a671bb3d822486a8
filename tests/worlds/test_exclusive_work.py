"""Saving, loading, resetting and deleting a world exclude each other."""

import asyncio

from sandbox.worlds.background import Alone


def test_one_after_the_other_is_alone_with_a_name_and_names_are_apart():
    async def work() -> list[str]:
        alone, seen = Alone(), []

        async def use(name: str, who: str) -> None:
            async with alone.with_(name):
                seen.append(f"{who} in")
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                seen.append(f"{who} out")
                assert name in alone

        await asyncio.gather(use("x", "first"), use("x", "second"), use("y", "other"))
        assert "x" not in alone
        return seen

    seen = asyncio.run(work())

    assert [one for one in seen if "other" not in one] == [
        *("first in", "first out", "second in", "second out")
    ]
    assert seen.index("other in") < seen.index("first out")
