"""How worlds are named, counted, dropped and deleted. Source: assumed D25."""

import pytest

from sandbox.app import build
from sandbox.settings import Settings
from sandbox.world.registry import Limits
from tests.driving import InProcess
from tests.world.worlds import add_world


def test_the_keys_of_a_deleted_world_are_unknown(sandbox):
    one, other = add_world(sandbox, "one"), add_world(sandbox, "other")
    key = one.key("merchant")

    answer = one.control("DELETE", "/worlds/one")

    assert (answer.status, answer.body) == (204, b"")
    assert other.ask("GET", "/v5/apikeys", key=key).status == 401
    assert other.ask("GET", "/v5/apikeys", key="merchant").status == 200


def test_default_cannot_be_deleted(sandbox):
    answer = sandbox.control("DELETE", "/worlds/default")

    assert (answer.status, answer.json()["error"]) == (409, "protected")
    assert sandbox.ask("GET", "/v5/apikeys", key="merchant").status == 200


@pytest.mark.proves("assumed D25")
@pytest.mark.parametrize("id", ["a", "0", "-", "_", "a-b_c-9", "x" * 64])
def test_ids_of_worlds_are_letters_digits_and_two_signs(sandbox, id):
    answer = sandbox.control("POST", "/worlds", {"id": id})

    assert (answer.status, answer.json()["id"]) == (201, id)


@pytest.mark.proves("assumed D25")
@pytest.mark.parametrize("id", ["", "A", "a b", "a/b", "a.b", "x" * 65, "\u00e9", "a\n", 5, ["a"]])
def test_other_ids_are_refused(sandbox, id):
    answer = sandbox.control("POST", "/worlds", {"id": id})

    assert (answer.status, answer.json()["error"]) == (400, "validation_error")
    assert sandbox.control("GET", "/worlds").json()["total"] == 1


def test_worlds_without_an_id_are_numbered_past_those_that_are_taken(sandbox):
    add_world(sandbox, "world-2")

    ids = [sandbox.control("POST", "/worlds", {}).json()["id"] for _ in range(3)]

    assert ids == ["world-1", "world-3", "world-4"]


class Wall:
    """A wall clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 1_790_000_000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.fixture
def small(wall: Wall) -> InProcess:
    """A server of at most three worlds, which drops those unused for 100 seconds."""
    limits = Limits(worlds_max=3, unused_after_s=100.0)
    return InProcess(build(Settings(limits=limits), wall=wall))


def _ids(sandbox: InProcess) -> list[str]:
    return [world["id"] for world in sandbox.control("GET", "/worlds").json()["worlds"]]


def test_more_worlds_than_the_limit_are_refused(small):
    add_world(small, "a")
    add_world(small, "b")

    answer = small.control("POST", "/worlds", {"id": "c"})

    assert (answer.status, answer.json()["error"]) == (409, "too_many_worlds")
    assert _ids(small) == ["default", "a", "b"]


def test_a_world_that_is_deleted_makes_room(small):
    add_world(small, "a")
    add_world(small, "b")

    small.control("DELETE", "/worlds/a")

    assert small.control("POST", "/worlds", {"id": "c"}).status == 201


def test_worlds_that_nobody_uses_are_dropped_with_their_keys(small, wall):
    forgotten, asked = add_world(small, "a"), add_world(small, "b")
    key = forgotten.key("merchant")

    wall.seconds += 99
    asked.ask("GET", "/v5/apikeys", key="merchant")
    wall.seconds += 2

    assert _ids(small) == ["default", "b"]
    assert small.ask("GET", "/v5/apikeys", key=key).status == 401


def test_a_world_that_somebody_looks_at_is_in_use(small, wall):
    add_world(small, "a")

    wall.seconds += 99
    small.control("GET", "/worlds/a/messages")
    wall.seconds += 99

    assert _ids(small) == ["default", "a"]


def test_default_is_never_dropped(small, wall):
    wall.seconds += 1_000_000

    assert _ids(small) == ["default"]
    assert small.ask("GET", "/v5/apikeys", key="merchant").status == 200


def test_unused_worlds_make_room_for_new_ones(small, wall):
    add_world(small, "a")
    add_world(small, "b")

    wall.seconds += 101

    assert small.control("POST", "/worlds", {"id": "c"}).status == 201
    assert _ids(small) == ["default", "c"]


def test_an_id_is_free_again_once_its_world_was_dropped(small, wall):
    add_world(small, "a")

    wall.seconds += 101

    assert small.control("POST", "/worlds", {"id": "a"}).status == 201
