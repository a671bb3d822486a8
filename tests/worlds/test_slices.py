"""Long work in turns: who has one when, whatever it comes to."""

import asyncio
import threading
from itertools import pairwise

import pytest

from sandbox.store.steps import LET_GO_AT_ONCE, Steps, let_go, run_through
from sandbox.worlds.slices import LARGE_AT_ONCE, Alone, Slices


def counting(seen: list[str], name: str, count: int) -> Steps[str]:
    for number in range(count):
        seen.append(f"{name}{number}")
        yield
    return name


def in_steps() -> Slices:
    """Turns of one step each."""
    return Slices(slice_s=0.0)


def test_without_a_loop_all_steps_are_taken_at_once():
    seen: list[str] = []
    coroutine = in_steps().run(counting(seen, "a", 3))

    with pytest.raises(StopIteration) as end:
        coroutine.send(None)

    assert end.value.value == "a"
    assert seen == ["a0", "a1", "a2"]


def test_others_on_the_loop_have_their_turn_after_every_slice():
    async def work() -> list[str]:
        seen: list[str] = []
        working = asyncio.ensure_future(in_steps().run(counting(seen, "a", 5)))
        while not working.done():
            seen.append("other")
            await asyncio.sleep(0)
        return seen

    seen = asyncio.run(work())

    places = [seen.index(f"a{number}") for number in range(5)]
    gaps = [seen[one + 1 : other].count("other") for one, other in pairwise(places)]
    # A request is read in one round of the loop, and answered in the next.
    assert min(gaps) >= 2


def test_a_slice_goes_on_as_long_as_it_may():
    async def work() -> list[str]:
        seen: list[str] = []
        working = asyncio.ensure_future(Slices(slice_s=3600).run(counting(seen, "a", 1_000)))
        await asyncio.sleep(0)
        seen.append("other")
        await working
        return seen

    assert asyncio.run(work())[-1] == "other"


def test_long_work_takes_turns_in_one_line():
    async def work() -> list[str]:
        seen: list[str] = []
        slices = in_steps()
        await asyncio.gather(*(slices.run(counting(seen, name, 3)) for name in "abc"))
        return seen

    assert asyncio.run(work()) == [f"{name}{number}" for number in range(3) for name in "abc"]


def test_in_one_round_of_the_loop_one_slice_is_taken_however_many_want_to():
    rounds: list[int] = []

    async def work() -> None:
        loop, slices, number = asyncio.get_running_loop(), in_steps(), [0]

        def count() -> None:
            number[0] += 1
            loop.call_soon(count)

        def noting() -> Steps[None]:
            for _ in range(5):
                rounds.append(number[0])
                yield

        loop.call_soon(count)
        await asyncio.gather(*(slices.run(noting()) for _ in range(20)))

    asyncio.run(work())

    assert len(rounds) == 100
    assert len(set(rounds)) == 100


def test_work_that_fails_leaves_the_line_to_the_next():
    def failing() -> Steps[None]:
        yield
        raise ValueError("no")

    async def work() -> str:
        slices, seen = in_steps(), []
        failed = asyncio.ensure_future(slices.run(failing()))
        went_on = asyncio.ensure_future(slices.run(counting(seen, "a", 3)))
        with pytest.raises(ValueError, match="no"):
            await failed
        return await went_on

    assert asyncio.run(work()) == "a"


def test_work_that_is_called_off_tidies_up_and_leaves_the_line_to_the_next():
    begun: list[str] = []
    tidied: list[str] = []

    def tidy() -> Steps[None]:
        try:
            begun.append("yes")
            while True:
                yield
        finally:
            tidied.append("yes")

    async def work() -> str:
        slices, seen = in_steps(), []
        endless = [asyncio.ensure_future(slices.run(tidy())) for _ in range(3)]
        went_on = asyncio.ensure_future(slices.run(counting(seen, "a", 10)))
        while len(begun) < len(endless):
            await asyncio.sleep(0)
        for one in endless:
            one.cancel()
        return await went_on

    assert asyncio.run(work()) == "a"
    assert tidied == ["yes"] * 3


def test_of_what_needs_much_memory_a_few_are_under_way():
    under_way, most = [0], [0]

    def large() -> Steps[None]:
        yield
        # Whoever comes here is one of them.
        under_way[0] += 1
        most[0] = max(most[0], under_way[0])
        for _ in range(10):
            yield
        under_way[0] -= 1

    async def work() -> None:
        slices = in_steps()
        await asyncio.gather(*(slices.run(large(), is_large=True) for _ in range(12)))

    asyncio.run(work())

    assert most[0] == LARGE_AT_ONCE


def test_what_is_short_does_not_wait_for_what_is_large():
    async def work() -> list[str]:
        slices, ended = in_steps(), []

        async def run(name: str, count: int) -> None:
            await slices.run(counting([], name, count), is_large=True)
            ended.append(name)

        large = [run(f"large {number}", 50) for number in range(LARGE_AT_ONCE + 1)]
        await asyncio.gather(*large, run("short", 0))
        return ended

    assert asyncio.run(work())[0] == "short"


def test_what_cannot_be_cut_is_done_aside_while_others_go_on():
    came, where = threading.Event(), []

    def blocking() -> None:
        where.append(threading.current_thread() is threading.main_thread())
        assert came.wait(10)

    def work() -> Steps[str]:
        yield blocking
        return "done"

    async def both() -> str:
        working = asyncio.ensure_future(in_steps().run(work()))
        while not where:
            await asyncio.sleep(0)
        came.set()
        return await working

    assert asyncio.run(both()) == "done"
    assert where == [False]
    came.clear()
    came.set()
    assert run_through(work()) == "done"
    assert where == [False, True]


def test_what_fails_aside_ends_the_work():
    def failing() -> None:
        raise ValueError("no")

    def work() -> Steps[None]:
        yield failing

    with pytest.raises(ValueError, match="no"):
        asyncio.run(in_steps().run(work()))


def test_turns_go_on_on_another_loop():
    slices = in_steps()
    for _ in range(2):
        seen: list[str] = []
        assert asyncio.run(slices.run(counting(seen, "a", 3))) == "a"


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


def test_containers_are_let_go_bit_by_bit():
    mapping, listed = dict.fromkeys(range(1_000)), list(range(1_000))

    sizes = [len(mapping) + len(listed) for _ in let_go([mapping, listed])]

    assert sizes[-1] == 0
    steps = [before - after for before, after in zip([2_000, *sizes], sizes, strict=False)]
    assert max(steps) <= LET_GO_AT_ONCE
