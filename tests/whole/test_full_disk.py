"""A disk that is full: the server says so in words, and loses nothing."""

import json
import resource
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.driving import NOW, until
from tests.state.remote import Remote
from tests.state.saved_worlds import KINDS, serving_saved

NO_LIMIT = resource.getrlimit(resource.RLIMIT_FSIZE)


def _limit(path: Path) -> Callable[[], None]:
    """Have files of a process grow hardly beyond this one."""
    limit = (path.stat().st_size + 60_000, NO_LIMIT[1])
    return partial(resource.setrlimit, resource.RLIMIT_FSIZE, limit)


def _pay_until_full(world: Remote) -> list[str]:
    """The ids of what was acknowledged, up to the first payment that could not be kept."""
    kept: list[str] = []
    for _ in range(500):
        answer = world.pay()
        if answer.status != 200:
            assert answer.status == 500
            assert set(answer.json()) == {"detail", "error"}
            assert answer.json()["error"] == "internal_error"
            return kept
        kept.append(answer.json()["transaction_id"])
    raise AssertionError("the disk was never full")


@pytest.mark.parametrize("kind", KINDS)
def test_on_a_full_disk_nothing_is_acknowledged_and_reads_work(tmp_path: Path, kind: str):
    path = tmp_path / f"state.{kind}"
    with serving_saved(path, "--clock", NOW) as server:
        first = Remote(server).paid_id()
    with serving_saved(path, before=_limit(path)) as server:
        world = Remote(server)
        kept = _pay_until_full(world)

        assert world.read(first)["status"] == "captured"
        assert world.ask("HEAD", "/v1/accounts", key="merchant").status == 200
        assert world.control("GET", "/health").status == 200
        refusal = world.control("PUT", "/worlds/default/switches", {"strict_headers": True})
        assert refusal.error() == (507, "not_written")
        refusal = world.create_key()
        assert (refusal.status, set(refusal.json())) == (500, {"error", "message", "details"})
        problems = [one["message"] for one in server.said() if one["level"] == "error"]
        assert any("write" in one for one in problems)
        assert "Traceback" not in json.dumps(server.said())

        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, NO_LIMIT)

        kept.append(until(lambda: world.pay().json().get("transaction_id")))
        total = world.all_transactions()
        assert any("works again" in one["message"] for one in server.said())
        server.kill()

    with serving_saved(path) as server:
        world = Remote(server)
        for id in (first, *kept):
            assert world.read(id)["status"] == "captured"
        # What was refused but done is there too: none of it was forgotten meanwhile.
        assert world.all_transactions() == total
