"""What a listing contains: assumed 4.5, by content. Which status it has stands with the access.

Keys of the cast go by their names here. All of them were made at one instant, so that the order of
the fixture decides among them; whatever a test mints is newer.
"""

import pytest

from tests.platform.minting import delete, mint, put, read, set_clock

MERCHANT = ["retrievable", "legacy", "expired", "revoked", "merchant_read_only", "merchant"]
BELOW_PARTNER = [
    *("retrievable", "legacy", "expired", "revoked", "merchant_read_only"),
    *("second_merchant", "merchant"),
]
BELOW_PSP = [
    *("retrievable", "legacy", "expired", "revoked", "merchant_read_only", "other_merchant"),
    *("other_partner", "second_merchant", "merchant", "partner"),
]


def listing(sandbox, *, key, account=None):
    query = f"account_id={sandbox.account(account)}" if account else ""
    answer = sandbox.ask("GET", "/v5/apikeys", key=key, query=query)
    assert answer.status == 200, answer.body
    return answer.json()


def names(sandbox, listed):
    """The cast names of the listed keys; of one that a test minted, its own name."""
    world = sandbox.control("GET", "/worlds/default").json()
    cast = {key["id"]: name for name, key in world["keys"].items()}
    return [cast.get(key["id"], key["name"]) for key in listed]


def reader(sandbox, caller, *held):
    """A key on the caller's account that holds exactly this; it is listed as `reader` itself."""
    return mint(sandbox, [f"apikeys:{one}" for one in held], by=caller, name="reader").key


@pytest.mark.proves(
    "spec 4.2-list, 4.2-all, 4.2-own, 4.2-sub, 4.2-admin", "assumed 4.5, 4.5-admin, Q13"
)
@pytest.mark.parametrize(
    ("caller", "held", "expected"),
    [
        ("merchant", ["read"], ["reader", *MERCHANT]),
        ("merchant", ["read:sub"], []),
        ("merchant", ["read", "read:sub"], ["reader", *MERCHANT]),
        ("partner", ["read"], ["reader", "partner"]),
        ("partner", ["read:sub"], BELOW_PARTNER),
        ("partner", ["read", "read:sub"], ["reader", *BELOW_PARTNER, "partner"]),
        ("psp", ["read"], ["reader", "psp"]),
        ("psp", ["read:sub"], BELOW_PSP),
        ("psp", ["read", "read:sub"], ["reader", *BELOW_PSP, "psp"]),
        # assumed 4.5-admin: even an admin sees only its own keys with the base form.
        ("admin", ["read"], ["reader", "admin"]),
        ("admin", ["read:sub"], [*BELOW_PSP, "psp"]),
        ("admin", ["read", "read:sub"], ["reader", *BELOW_PSP, "psp", "admin"]),
    ],
)
def test_without_an_account_a_listing_has_what_the_permissions_allow(
    sandbox, caller, held, expected
):
    key = reader(sandbox, caller, *held)

    listed = listing(sandbox, key=key)

    assert names(sandbox, listed) == expected


@pytest.mark.proves("spec 4.2-account", "assumed 4.5")
@pytest.mark.parametrize(
    ("caller", "held", "account", "expected"),
    [
        ("merchant", ["read"], "merchant", ["reader", *MERCHANT]),
        ("partner", ["read"], "partner", ["reader", "partner"]),
        ("partner", ["read:sub"], "merchant", MERCHANT),
        ("partner", ["read:sub"], "second_merchant", ["second_merchant"]),
        ("partner", ["read:sub"], "tax_merchant", []),
        ("partner", ["read", "read:sub"], "partner", ["reader", "partner"]),
        ("partner", ["read", "read:sub"], "merchant", MERCHANT),
        # One account, not the hierarchy below it.
        ("psp", ["read:sub"], "partner", ["partner"]),
        ("psp", ["read:sub"], "other_merchant", ["other_merchant"]),
        ("admin", ["read"], "admin", ["reader", "admin"]),
        ("admin", ["read:sub"], "psp", ["psp"]),
        ("admin", ["read", "read:sub"], "merchant", MERCHANT),
    ],
)
def test_with_an_account_a_listing_has_the_keys_of_that_account_alone(
    sandbox, caller, held, account, expected
):
    key = reader(sandbox, caller, *held)

    listed = listing(sandbox, key=key, account=account)

    assert names(sandbox, listed) == expected


@pytest.mark.proves("assumed 0.5-lists")
def test_a_listing_begins_with_the_newest_key(sandbox):
    for minute, name in enumerate(("first", "second", "third")):
        set_clock(sandbox, f"2026-03-01T12:0{minute}:00Z")
        mint(sandbox, ["payments:read"], by="merchant", name=name)

    listed = listing(sandbox, key="merchant")

    assert names(sandbox, listed) == ["third", "second", "first", *MERCHANT]
    assert [key["created_at"] for key in listed[:3]] == [
        "2026-03-01T12:02:00.000Z",
        "2026-03-01T12:01:00.000Z",
        "2026-03-01T12:00:00.000Z",
    ]


def test_changing_a_key_does_not_move_it_in_the_listing(sandbox):
    put(sandbox, sandbox.key_id("merchant_read_only"), name="renamed", status="revoked")

    listed = listing(sandbox, key="merchant")

    assert names(sandbox, listed) == MERCHANT


@pytest.mark.proves("assumed 4.5-deleted, 4.3-read")
def test_deleted_keys_are_not_listed_while_revoked_and_expired_ones_are(sandbox):
    made = mint(sandbox, ["payments:read"], by="merchant", name="made")
    before = names(sandbox, listing(sandbox, key="merchant"))
    delete(sandbox, made.id)

    after = names(sandbox, listing(sandbox, key="merchant"))

    assert before == ["made", *MERCHANT]
    assert after == MERCHANT
    assert "deleted" not in after


@pytest.mark.proves("assumed 4.5-deleted")
@pytest.mark.parametrize("caller", ["partner", "psp", "admin"])
def test_keys_of_a_deleted_account_are_not_listed(wider, caller):
    listed = listing(wider, key=caller)

    assert "orphan" not in names(wider, listed)
    assert "merchant" in names(wider, listed)


@pytest.mark.proves("spec 4.2, 4.2-list, 4.2-read", "assumed 1.2-array")
def test_a_listing_is_a_bare_array_of_what_a_single_read_shows(sandbox):
    answer = sandbox.ask("GET", "/v5/apikeys", key="merchant")

    listed = answer.json()
    assert isinstance(listed, list)
    assert len(listed) == 6
    assert listed == [read(sandbox, key["id"]) for key in listed]


@pytest.mark.proves("assumed 1.2-array")
def test_a_listing_is_not_cut_into_pages(sandbox):
    for number in range(260):
        mint(sandbox, ["payments:read"], by="merchant", name=f"key {number}")

    listed = listing(sandbox, key="merchant")

    assert len(listed) == 266
    assert len({key["id"] for key in listed}) == 266


def test_two_accounts_in_one_query_are_refused(sandbox):
    merchant, partner = sandbox.account("merchant"), sandbox.account("partner")
    query = f"account_id={merchant}&account_id={partner}"

    answer = sandbox.ask("GET", "/v5/apikeys", key="partner", query=query)

    assert (answer.status, answer.json()["error"]) == (400, "validation_error")
