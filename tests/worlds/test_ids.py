"""Ids and key material: the same draws give the same ids, and no two draws give one."""

import re
from functools import partial

import pytest

from sandbox.store.ids import Ids

UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")

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


@pytest.mark.proves("assumed 0.5-ids, 8.3-id, 8.3")
def test_ids_and_key_material_have_their_form_and_never_repeat():
    ids = Ids(seed=1, world_id="a")
    for draw, form in (
        (ids.uuid, UUID4),
        (ids.message_id, "msg_[A-Za-z0-9]{27}"),
        (partial(ids.secret_chars, 12), "[A-Za-z0-9]{12}"),
    ):
        drawn = {draw() for _ in range(MANY)}
        assert len(drawn) == MANY
        assert [one for one in drawn if not re.fullmatch(form, one)] == []
    assert len(set("".join(drawn))) == 62


def test_values_derived_from_a_name_have_their_form_and_differ_from_name_to_name():
    worlds = [Ids(seed=seed, world_id="a") for seed in (0, -1, 2**200)]
    names = ("", "\0", "é \U0001f600", *(f"account:{n}" for n in range(MANY)))
    drawn = [ids.uuid_of(name) for ids in worlds for name in names]

    assert [id for id in drawn if not UUID4.fullmatch(id)] == []
    assert len(set(drawn)) == len(worlds) * len(names)
    assert {id[19] for id in drawn} == {"8", "9", "a", "b"}
    for length in (1, 12, 16, 32, 64):
        for chars in (worlds[0].chars_of("x", length), worlds[0].fixed_chars("x", length)):
            assert re.fullmatch(f"[A-Za-z0-9]{{{length}}}", chars)
