"""A key leads to one world, whatever is in a snapshot.

Source: assumed D25; docs/design/worlds.md.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.app import build
from sandbox.domain.keys import digest_of
from sandbox.settings import Settings
from sandbox.store.files.port import StoreError
from tests.driving import InProcess, fresh
from tests.state.filling import looping
from tests.support.directory import SUPPLIED_KEY, supplied

Document = dict[str, Any]


def with_key(document: Document, plaintext: str, id: str | None = None, **more: Any) -> Document:
    """The snapshot with a row for this key, salted anew; with an `id`, in place of that row."""
    _, _, lookup, secret = plaintext.split("_")
    rows = document["api_keys"]
    base = next(row for row in rows.values() if id in (None, row["_id"]))
    material = {"lookup": lookup, "salt": "00", "digest": digest_of("00", secret)}
    row = {**base, "name": "brought", "key_last4": secret[-4:], **material, **more}
    row.pop("readable_key", None)
    if id is None:
        row["_id"] = row["id"] = "11111111-1111-4111-8111-111111111111"
        number = str(1 + max(map(int, rows)))
    else:
        number = next(number for number, row in rows.items() if row["_id"] == id)
    return {**document, "api_keys": {**rows, number: row | more}}


@pytest.fixture
def mallory(sandbox: InProcess) -> InProcess:
    """A world of the same server as `default`."""
    return sandbox.add_world("mallory")


def test_a_key_of_another_world_cannot_be_restored_with_a_forged_salt(sandbox, mallory):
    before, minted = mallory.look("snapshot"), sandbox.create_key().json()["key"]

    for plaintext, more in (
        (sandbox.key("merchant"), {}),
        # Of a minted key no world knows the plaintext: an equal lookup is enough.
        (minted, {}),
        # A readable key that does not fit its digest proves nothing.
        (minted, {"readable_key": minted[:-32] + "X" * 32}),
    ):
        answer = mallory.manage("PUT", "/snapshot", with_key(before, plaintext, **more))

        assert answer.error() == (400, "not_restored")
        assert "the world 'default' has this key" in answer.json()["message"]
        assert mallory.look("snapshot") == before
    # After a reset of the other world its keys still lead to it.
    sandbox.reset()
    sandbox.paid()
    assert sandbox.message_count() > 0
    assert mallory.message_count() == 0


def test_a_key_of_the_cast_keeps_its_material_whatever_a_snapshot_says(sandbox, mallory):
    own, id = mallory.key("merchant"), mallory.key_id("merchant")

    changed = with_key(mallory.look("snapshot"), sandbox.key("merchant"), id)

    mallory.manage("PUT", "/snapshot", changed).expect(200)

    assert mallory.get("/v5/apikeys", by=own).status == 200
    sandbox.reset()
    sandbox.paid()
    assert sandbox.message_count() > 0
    assert mallory.message_count() == 0


def test_a_row_that_takes_the_lookup_of_the_worlds_own_cast_is_refused(mallory):
    own = mallory.key("merchant")
    document = with_key(mallory.look("snapshot"), own)
    victim = mallory.key_id("merchant")
    number = next(n for n, row in document["api_keys"].items() if row["_id"] == victim)
    document["api_keys"][number] |= {"lookup": "anotherone00"}

    answer = mallory.manage("PUT", "/snapshot", document)

    assert answer.error() == (400, "not_restored")
    assert answer.json()["message"].startswith("snapshot: api_keys, ")


def test_a_supplied_key_is_restored_beside_one_with_the_same_lookup(sandbox, mallory):
    similar = SUPPLIED_KEY[:-32] + "T" * 32
    assert sandbox.create_key(**supplied()).status == 201
    assert mallory.create_key(**supplied(similar)).status == 201

    mallory.load(mallory.saved()).expect(200)

    for world, key in ((sandbox, SUPPLIED_KEY), (mallory, similar)):
        holder = world.sandbox.worlds.holder(world.sandbox.worlds.profile.key_format.parse(key))
        assert holder is not None
        assert holder[0].id == world.world


def test_a_world_is_not_reset_if_another_one_has_its_key_now(sandbox, mallory):
    without = mallory.look("snapshot")
    gone = mallory.key_id("merchant")
    rows = without["api_keys"]
    without["api_keys"] = {n: row for n, row in rows.items() if row["_id"] != gone}
    plaintext = mallory.key("merchant")
    assert mallory.manage("PUT", "/snapshot", without).status == 200
    assert sandbox.create_key(**supplied(plaintext)).status == 201

    refused = mallory.manage("POST", "/reset").expect(400)

    assert "the world 'default' has this key" in refused["details"]
    # Nothing was changed: the key leads to the world that has it, the others to theirs.
    assert sandbox.get("/v5/apikeys", by=plaintext).status == 404
    assert mallory.get("/v5/apikeys").status == 200


# --- in a file --------------------------------------------------------------------------------


def test_a_file_in_which_a_world_has_the_key_of_another_is_refused(tmp_path: Path):
    path = tmp_path / "state.json"
    with looping(fresh(store=path)) as sandbox:
        victim = sandbox.key("merchant")
        sandbox.add_world("alice")
    document = json.loads(path.read_bytes())
    own = {"api_keys": document["alice.api_keys"]}
    document["alice.api_keys"] = with_key(own, victim)["api_keys"]
    path.write_text(json.dumps(document), encoding="utf-8")

    with pytest.raises(StoreError, match=r"api_keys, .*: the world 'alice' has this key"):
        build(Settings(store=path))


# --- creating worlds --------------------------------------------------------------------------


def squat(sandbox: InProcess, id: str) -> None:
    """Supply, in `default`, the key that the world with this id will have."""
    elsewhere = fresh()
    key = elsewhere.add_world(id).key("merchant")
    made = sandbox.mint(["payments:read"], by="merchant", **supplied(key))
    assert made["key"] == key


def test_supplied_keys_of_worlds_to_come_do_not_stop_the_creation_of_worlds(sandbox):
    squat(sandbox, "world-1")
    squat(sandbox, "world-2")

    made = [sandbox.control("POST", "/worlds", {}) for _ in range(2)]

    assert [one.status for one in made] == [201, 201]
    assert [one.json()["id"] for one in made] == ["world-3", "world-4"]
    key = made[0].json()["keys"]["merchant"]["key"]
    assert sandbox.get("/v5/apikeys", by=key).status == 200


def test_a_world_that_is_asked_for_by_name_is_refused_where_its_keys_are_taken(sandbox):
    squat(sandbox, "world-1")

    answer = sandbox.control("POST", "/worlds", {"id": "world-1"})

    assert answer.error() == (409, "world_taken")
    assert "'merchant'" in answer.json()["message"]
    assert sandbox.look("/worlds")["total"] == 1
