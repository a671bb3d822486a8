"""Worlds never meet: keys, accounts, switches, clocks. Source: assumed D25."""

import pytest

from tests.driving import InProcess
from tests.support.directory import SUPPLIED_KEY, supplied


@pytest.fixture
def two(sandbox: InProcess) -> tuple[InProcess, InProcess]:
    """Two worlds of one server that differ in their seed."""
    return sandbox.add_world("one", seed=1), sandbox.add_world("other", seed=2)


# --- keys decide the world --------------------------------------------------------------------


def test_a_key_reaches_no_account_and_no_key_of_another_world(two):
    one, other = two
    owners = ("admin", "psp", "partner", "merchant")
    path = f"/v5/apikeys/{other.key_id('merchant_read_only')}"
    merchant = other.account_id("merchant")
    before = other.get(path, by="merchant").json()

    for name in owners:
        refused = [
            *(one.get(f"/v1/accounts/{other.account_id(who)}", by=name) for who in owners),
            one.get(path, by=name),
            one.put(path, {"status": "revoked"}, by=name),
            one.delete(path, by=name),
            one.get("/v5/apikeys", by=name, query=f"account_id={merchant}"),
            one.create_key(by=name, account_id=merchant),
        ]
        assert [answer.status for answer in refused] == [404] * 9, name
    assert other.get(path, by="merchant").json() == before


# --- supplied keys ----------------------------------------------------------------------------


def test_a_key_that_another_world_has_cannot_be_supplied(two):
    one, other = two

    first = one.create_key(**supplied())
    second = other.create_key(**supplied())

    assert (first.status, second.status) == (201, 400)
    assert second.json()["error"] == "validation_error"
    assert other.message_count() == 0
    assert SUPPLIED_KEY not in second.body.decode()
    for name in ("merchant", "retrievable", "revoked", "deleted"):
        assert one.create_key(**supplied(InProcess(one.sandbox).key(name))).status == 400, name


def test_a_key_generated_again_after_a_reset_is_never_one_of_another_world(two):
    """Draws repeat after a reset; a key from an earlier run may have been supplied elsewhere."""
    one, other = two
    minted = one.create_key(permissions=["accounts:read"]).json()["key"]
    one.reset()
    other.create_key(permissions=["accounts:read"], **supplied(minted))

    again = one.create_key(permissions=["accounts:read"]).json()["key"]

    path = f"/v1/accounts/{one.account_id('merchant')}"
    assert one.get(path, by=again).status == 200
