"""The permission vocabulary. Source: spec 2.2."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.domain.permissions import ACTIONS, CONCRETE, MACROS, PERMISSIONS, expand, grants_of

COUNTS = {
    "payments": 9,
    "batches": 4,
    "terminals": 4,
    "locations": 4,
    "accounts": 5,
    "credentials": 4,
    "apikeys": 8,
    "webhooks": 4,
}

SUBSETS = st.lists(st.sampled_from(CONCRETE), unique=True).map(tuple)


SPELT = [
    *(
        "payments:tap-ios",
        "payments:tap-android",
        "payments:incremental-auth",
        "payments:tipadjust",
    ),
    *("payments:void", "payments:confirm", "batches:open", "batches:close", "webhooks:create"),
    *("accounts:create:partner", "accounts:create:merchant", "apikeys:read:sub"),
    "apikeys:delete:sub",
]
OTHERS = [
    *("", "ALL", "payments", "payments:*", "payments:tap", "payments:create", "payments:read:sub"),
    *("accounts:create", "batches:delete", "apikeys:sub", "Payments:read", " payments:read"),
]


@pytest.mark.proves(
    "spec 2.2, 2.2-macros, 2.2-payments, 2.2-batches, 2.2-directory, 2.2-accounts, 2.2-apikeys",
    "spec 2.2-webhooks",
)
def test_there_are_42_concrete_permissions_of_eight_resources_and_two_macros():
    assert (len(CONCRETE), len(set(CONCRETE))) == (42, 42)
    assert sorted(MACROS) == ["all", "legacy_all"]
    assert len(PERMISSIONS) == 44
    assert {resource: len(actions) for resource, actions in ACTIONS.items()} == COUNTS
    for resource, count in COUNTS.items():
        assert sum(name.startswith(f"{resource}:") for name in CONCRETE) == count
    assert [name for name in SPELT if name not in PERMISSIONS] == []
    assert [name for name in OTHERS if name in PERMISSIONS] == []


@pytest.mark.proves("spec 2.2-all, 2.2-legacy-all")
@pytest.mark.parametrize("macro", ["all", "legacy_all"])
@given(others=SUBSETS)
def test_a_macro_stands_for_every_concrete_permission_whatever_else_is_there(macro, others):
    assert expand((*others, macro)) == set(CONCRETE)


@pytest.mark.proves("spec 5.6, 5.7")
@given(some=SUBSETS, asked=st.sampled_from(CONCRETE))
def test_concrete_permissions_stand_for_themselves_and_imply_no_other(some, asked):
    grants = grants_of(some)

    assert expand(some) == grants.concrete == set(some)
    assert grants.types == {name.split(":")[0] for name in some}
    assert (asked in grants) == (asked in some)


def test_a_macro_is_not_held_itself():
    grants = grants_of(("all",))

    assert "apikeys:create:sub" in grants
    assert "all" not in grants
    assert grants.types == set(COUNTS)
