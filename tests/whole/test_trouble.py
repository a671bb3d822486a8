"""What can be wrong with a file or its disk: the server says it in words, and spoils nothing."""

import json
import resource
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from sandbox.domain.payments.cards import CARDS
from tests.driving import NOW, until
from tests.state.filling import KEPT_KEY, fill
from tests.state.remote import Remote
from tests.state.saved_worlds import KINDS, serving_saved
from tests.webhooks.receiving import receiving

FROZEN = ("--clock", NOW)


@pytest.fixture(params=KINDS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Where the file of a kind will be."""
    return tmp_path / f"state.{request.param}"


# --- a full disk ------------------------------------------------------------------------------


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


def test_on_a_full_disk_nothing_is_acknowledged_until_there_is_room_and_reading_goes_on(
    path: Path,
):
    with serving_saved(path, *FROZEN) as server:
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


# --- secrets ----------------------------------------------------------------------------------

STRAY = "4539578763621486"
"""A card number that a client sends where none belongs."""


@pytest.mark.proves("assumed D26")
def test_no_secret_stands_in_a_file_but_those_that_may_be_read_again(path: Path):
    with receiving() as receiver:
        with serving_saved(path, *FROZEN) as server:
            world = Remote(server)
            world.add_endpoint(url=receiver.url)
            fill(world)
            minted = world.mint(["all"], by="merchant", name="minted")
            for card in CARDS:
                world.pay(card=card)
            for field in ("card", "event_id", "apple_transaction_id"):
                world.pay(**{field: STRAY})
            world.pay(additional_details={"note": STRAY})
            world.ask("GET", "/v5/apikeys", key="svc_uat_neverminted0_" + "N" * 32)
            world.wait_idle()
            keys = {name: one["key"] for name, one in world.view["keys"].items()}
        content = b"".join(
            one.read_bytes() for one in path.parent.iterdir() if one.name.startswith("state.")
        )

    readable = {keys["legacy"], keys["retrievable"], KEPT_KEY}
    assert KEPT_KEY.encode() in content
    hidden = [key for key in (*keys.values(), minted["key"]) if key not in readable]
    assert [key for key in hidden if key.encode() in content] == []
    # Neither whole nor its secret part.
    assert [key for key in hidden if key[-32:].encode() in content] == []
    assert b"N" * 32 not in content
    numbers = {card.pan for card in CARDS.values()} | {STRAY}
    assert [one for one in numbers if one.encode() in content] == []
