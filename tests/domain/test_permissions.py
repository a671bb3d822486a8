"""The permission vocabulary. Source: spec 2.2."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.domain.permissions import ACTIONS, CONCRETE, MACROS, PERMISSIONS, expand, grants_of

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

SUBSETS = st.lists(st.sampled_from(CONCRETE), unique=True).map(tuple)

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


@pytest.mark.proves("spec 2.2-all, 2.2-legacy-all")
@given(macro=st.sampled_from(sorted(MACROS)), others=SUBSETS)
def test_a_macro_stands_for_every_concrete_permission_and_is_not_held_itself(macro, others):
    grants = grants_of((*others, macro))

    assert expand((*others, macro)) == grants.concrete == set(CONCRETE)
    assert grants.types == set(ACTIONS)
    assert macro not in grants


@pytest.mark.proves("spec 5.6, 5.7")
@given(some=SUBSETS, asked=st.sampled_from(CONCRETE))
def test_concrete_permissions_stand_for_themselves_and_imply_no_other(some, asked):
    grants = grants_of(some)

    assert expand(some) == grants.concrete == set(some)
    assert grants.types == {name.split(":")[0] for name in some}
    assert (asked in grants) == (asked in some)
