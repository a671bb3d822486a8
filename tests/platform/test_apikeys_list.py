"""What a listing contains: assumed 4.5, by content. Which status it has is in the access tables.

Keys of the cast go by their names here. All of them were made at one instant, so that the order of
the fixture decides among them; whatever a test mints is newer.
"""

import pytest

MERCHANT = ["retrievable", "legacy", "expired", "revoked", "merchant_read_only", "merchant"]
BELOW_PARTNER = [*MERCHANT[:-1], "second_merchant", "merchant"]
BELOW_PSP = [
    *(*MERCHANT[:-1], "other_merchant", "other_partner", "second_merchant", "merchant"),
    "partner",
]


def listing(sandbox, *, key, account=None):
    query = f"account_id={sandbox.account_id(account)}" if account else ""
    return sandbox.get("/v5/apikeys", by=key, query=query).expect(200)


def names(sandbox, listed):
    """The cast names of the listed keys; of one that a test minted, its own name."""
    world = sandbox.look("/worlds/default")
    cast = {key["id"]: name for name, key in world["keys"].items()}
    return [cast.get(key["id"], key["name"]) for key in listed]


# Whose key asks, what it holds, of which account, and what is listed.
LISTED = [
    ("merchant", ["read"], None, ["reader", *MERCHANT]),
    ("merchant", ["read:sub"], None, []),
    ("merchant", ["read", "read:sub"], None, ["reader", *MERCHANT]),
    ("partner", ["read"], None, ["reader", "partner"]),
    ("partner", ["read:sub"], None, BELOW_PARTNER),
    ("partner", ["read", "read:sub"], None, ["reader", *BELOW_PARTNER, "partner"]),
    ("psp", ["read", "read:sub"], None, ["reader", *BELOW_PSP, "psp"]),
    # assumed 4.5-admin: even an admin sees only its own keys with the base form.
    ("admin", ["read"], None, ["reader", "admin"]),
    ("admin", ["read:sub"], None, [*BELOW_PSP, "psp"]),
    ("admin", ["read", "read:sub"], None, ["reader", *BELOW_PSP, "psp", "admin"]),
    ("partner", ["read"], "partner", ["reader", "partner"]),
    ("partner", ["read:sub"], "merchant", MERCHANT),
    ("partner", ["read", "read:sub"], "partner", ["reader", "partner"]),
    # One account, not the hierarchy below it.
    ("psp", ["read:sub"], "partner", ["partner"]),
    ("admin", ["read:sub"], "psp", ["psp"]),
]


@pytest.mark.proves(
    "spec 4.2-list, 4.2-all, 4.2-own, 4.2-sub, 4.2-admin, 4.2-account",
    "assumed 4.5, 4.5-admin, Q13, 4.5-deleted, 4.3-read",
)
def test_a_listing_has_what_the_permissions_allow(wider):
    # The key of the deleted account is in none.
    for caller, held, account, expected in LISTED:
        permissions = [f"apikeys:{one}" for one in held]
        reader = wider.mint(permissions, by=caller, name="reader")
        listed = names(wider, listing(wider, key=reader["key"], account=account))
        assert listed == expected, (caller, held, account)
        wider.delete_key(reader["id"], by="admin")


@pytest.mark.proves("spec 4.2, 4.2-list, 4.2-read", "assumed 1.2-array")
def test_a_listing_is_a_bare_array_of_what_a_single_read_shows_and_has_no_pages(sandbox):
    listed = listing(sandbox, key="merchant")
    assert listed == [sandbox.read_key(key["id"]) for key in listed]
    for _ in range(260):
        sandbox.mint(["payments:read"], by="merchant")

    assert len({key["id"] for key in listing(sandbox, key="merchant")}) == len(listed) + 260
