"""The permission vocabulary. Source: spec 2.2."""

import pytest

from sandbox.domain.permissions import CONCRETE, MACROS, PERMISSIONS

SPELT = """
payments    tap-ios tap-android read refund tipadjust capture incremental-auth void confirm
batches     read open edit close
terminals   read create edit delete
locations   read create edit delete
accounts    read create:partner create:merchant edit delete
credentials read create edit delete
apikeys     read create edit delete read:sub create:sub edit:sub delete:sub
webhooks    read create edit delete
"""
"""The table of spec 2.2: each resource and its actions."""

OTHERS = [
    *("", "ALL", "payments", "payments:*", "payments:tap", "payments:create", "payments:read:sub"),
    *("accounts:create", "batches:delete", "apikeys:sub", "Payments:read", " payments:read"),
]


@pytest.mark.proves(
    "spec 2.2, 2.2-macros, 2.2-payments, 2.2-batches, 2.2-directory, 2.2-accounts, 2.2-apikeys",
    "spec 2.2-webhooks",
)
def test_there_are_the_permissions_of_eight_resources_in_the_order_of_the_spec_and_two_macros():
    table = map(str.split, SPELT.strip().splitlines())

    spelt = [f"{resource}:{action}" for resource, *actions in table for action in actions]
    assert list(CONCRETE) == spelt
    assert sorted(MACROS) == ["all", "legacy_all"]
    assert set(CONCRETE) | MACROS == PERMISSIONS
    assert [name for name in OTHERS if name in PERMISSIONS] == []
