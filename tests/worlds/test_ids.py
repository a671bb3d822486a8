"""Ids and key material: the same draws give the same ids, and no two draws give one."""

import re
from copy import copy

import pytest

from sandbox.store.ids import Ids
from sandbox.store.world_state import Counters

UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
MESSAGE = re.compile(r"msg_[A-Za-z0-9]{27}")

MANY = 10_000


def test_a_known_seed_gives_known_ids():
    """A release that changes these changes every id of every user's recorded tests."""
    ids = Ids(seed=1, world_id="default")

    first = Ids(seed=1, world_id="default").secret_bytes(4).hex()
    drawn = [ids.uuid(), ids.message_id(), ids.secret_chars(12), ids.uuid_of("account:merchant")]

    assert drawn == [
        "8d61c7b2-1cef-4c89-a93c-cd2d052124af",
        "msg_uuCtgC41vaLslvrL55t0DZ23sOp",
        "ORs9BKk4qKt1",
        "64e24377-b0e9-4882-9386-a4e53c72c012",
    ]
    assert first == "14c532b2"


@pytest.mark.proves("assumed 0.5-ids")
def test_uuids_are_of_version_4_in_lower_case():
    ids = Ids(seed=1, world_id="a")

    drawn = [ids.uuid() for _ in range(MANY)]
    drawn += [ids.uuid_of(f"account:{n}") for n in range(MANY)]
    others = [Ids(seed=seed, world_id="a") for seed in (0, -1, 2**200)]
    drawn += [other.uuid_of(name) for other in others for name in ("", "\0", "é \U0001f600")]

    assert [id for id in drawn if not UUID4.fullmatch(id)] == []
    assert len(set(drawn)) == 2 * MANY + 9
    assert {id[19] for id in drawn} == {"8", "9", "a", "b"}


@pytest.mark.proves("assumed 8.3-id, 8.3")
def test_message_ids_are_msg_and_27_letters_and_digits():
    ids = Ids(seed=1, world_id="a")

    drawn = [ids.message_id() for _ in range(MANY)]

    assert [id for id in drawn if not MESSAGE.fullmatch(id)] == []
    assert len(set(drawn)) == MANY


def test_key_material_is_letters_and_digits_of_the_length_asked_for_and_never_repeats():
    ids = Ids(seed=1, world_id="a")

    for length in (1, 12, 16, 32, 64):
        made = [ids.secret_chars(length), ids.chars_of("x", length), ids.fixed_chars("x", length)]
        assert all(re.fullmatch(f"[A-Za-z0-9]{{{length}}}", one) for one in made)
        assert len(set(made)) == 3 or length == 1
    drawn = [ids.secret_chars(12) for _ in range(MANY)]
    assert len(set(drawn)) == MANY
    assert len(set("".join(drawn))) == 62


def test_draws_go_on_where_a_counter_says():
    counters = Counters()
    before = Ids(seed=1, world_id="a", counters=counters)
    next_draws = [before.uuid, lambda: before.secret_bytes(8), before.message_id, before.uuid]
    for draw in next_draws:
        draw()

    after = Ids(seed=1, world_id="a", counters=copy(counters))

    assert before.uuid() == after.uuid()
    assert before.secret_bytes(32) == after.secret_bytes(32)
    assert before.uuid() == after.uuid()
