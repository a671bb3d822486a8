"""Windows on the four listings of the directory, and whose records they show. Assumed 0.5, C12."""

import pytest

from tests.directory.making import (
    LISTINGS,
    NOBODY,
    a_credential,
    a_location,
    a_terminal,
    account_id,
    an_account,
    delete,
    detail,
    get,
    set_clock,
    shown,
)

KEYS = {"accounts": "id", "terminals": "terminal_id", "locations": "id", "credentials": "id"}


def add(sandbox, plural, number, account="merchant", by="psp"):
    """One more record of the kind, in the partner's tree; its id."""
    if plural == "accounts":
        parent = account if account.endswith("partner") else "partner"
        return an_account(sandbox, by=by, parent_id=account_id(sandbox, parent))["id"]
    if plural == "terminals":
        return a_terminal(sandbox, account, by=by, tid=f"{number:08d}")["terminal_id"]
    create = a_location if plural == "locations" else a_credential
    return create(sandbox, account, by=by)["id"]


def window(sandbox, plural, query="", by="partner"):
    """A listing: the ids in it, and the rest of the answer."""
    page = shown(get(sandbox, LISTINGS[plural], by=by, query=query))
    rows = page.pop(plural)
    return [row[KEYS[plural]] for row in rows], page


# --- shape and order --------------------------------------------------------------------------


@pytest.mark.proves("spec 4.4-paths-gap", "assumed 0.5-lists, Q28, 1.3-list, 1.4-list")
@pytest.mark.parametrize(
    ("plural", "total"), [("accounts", 8), ("terminals", 7), ("locations", 8), ("credentials", 0)]
)
def test_a_listing_shows_total_limit_offset_and_page_beside_its_rows(sandbox, plural, total):
    answer = get(sandbox, LISTINGS[plural])

    page = shown(answer)

    assert list(page) == [plural, "total", "limit", "offset", "page"]
    assert (page["total"], page["limit"], page["offset"], page["page"]) == (total, 50, 0, 1)
    assert len(page[plural]) == total


@pytest.mark.proves("assumed 1.3-alias")
def test_accounts_are_listed_alike_under_either_version(sandbox):
    query = "type=merchant&limit=3&offset=1&search=a"

    pages = [get(sandbox, path, query=query) for path in ("/v1/accounts", "/v2/accounts")]

    assert shown(pages[0]) == shown(pages[1])
    assert len(shown(pages[0])["accounts"]) == 3


@pytest.mark.proves("assumed 0.5-lists")
@pytest.mark.parametrize("plural", LISTINGS)
def test_the_newest_come_first_even_when_all_were_made_at_one_instant(sandbox, plural):
    made = [add(sandbox, plural, number) for number in range(100, 105)]

    ids, _ = window(sandbox, plural)

    assert ids[:5] == made[::-1]


def test_a_record_made_later_with_an_earlier_clock_still_comes_first(sandbox):
    first = add(sandbox, "locations", 1)
    set_clock(sandbox, "2025-12-01T00:00:00Z")
    second = add(sandbox, "locations", 2)

    ids, _ = window(sandbox, "locations")

    assert ids[:2] == [second, first]


@pytest.mark.proves("assumed 0.5-lists, 1.3-list, 1.4-list")
@pytest.mark.parametrize(
    ("limit", "offset", "page", "rows"),
    [
        (1, 0, 1, 1),
        (1, 6, 7, 1),
        (3, 0, 1, 3),
        (3, 2, 1, 3),
        (3, 3, 2, 3),
        (3, 6, 3, 1),
        (3, 7, 3, 0),
        (200, 0, 1, 7),
        (200, 6, 1, 1),
        (2, 1_000_000, 500_001, 0),
        (7, 999_999_999_999, 142_857_142_858, 0),
    ],
)
def test_the_page_is_counted_from_limit_and_offset(sandbox, limit, offset, page, rows):
    everything, _ = window(sandbox, "terminals")

    ids, rest = window(sandbox, "terminals", f"limit={limit}&offset={offset}")

    assert rest == {"total": 7, "limit": limit, "offset": offset, "page": page}
    assert ids == everything[offset : offset + limit]
    assert len(ids) == rows


# --- what is refused --------------------------------------------------------------------------

NO_LIMITS = [
    *("0", "201", "abc", "", "null", "-1", "1.5", "%2B1", "+1"),
    *("1e2", "0x10", "10%20", "99999"),
]
NO_OFFSETS = ["-1", "abc", "", "null", "1.5", "%2B1", "+1", "-0", "1e2", "%D9%A1", "9" * 19]


@pytest.mark.proves("assumed C12, 1.3-list, 1.4-list")
@pytest.mark.parametrize("plural", LISTINGS)
def test_a_limit_that_is_not_from_1_to_200_is_refused_and_named(sandbox, plural):
    for limit in NO_LIMITS:
        answer = get(sandbox, LISTINGS[plural], query=f"limit={limit}")

        assert "limit" in detail(answer), limit


@pytest.mark.proves("assumed C12")
@pytest.mark.parametrize("plural", LISTINGS)
def test_an_offset_that_is_not_a_number_from_0_is_refused_and_named(sandbox, plural):
    for offset in NO_OFFSETS:
        answer = get(sandbox, LISTINGS[plural], query=f"offset={offset}")

        assert "offset" in detail(answer), offset


@pytest.mark.proves("assumed C12")
@pytest.mark.parametrize(
    ("path", "name", "value"),
    [
        *((path, "limit", "5") for path in LISTINGS.values()),
        *((path, "offset", "0") for path in LISTINGS.values()),
        ("/v2/accounts", "limit", "5"),
        ("/v1/accounts", "search", "x"),
        ("/v1/accounts", "type", "merchant"),
        ("/v1/accounts", "status", "active"),
        ("/v2/terminals", "search", "x"),
        ("/v2/terminals", "status", "active"),
        ("/v2/terminals", "processor_config_id", "x"),
        ("/v2/terminals", "processor_mid", "x"),
        ("/v2/terminals", "processor_tid", "x"),
        ("/v1/locations", "status", "active"),
        ("/v1/locations", "search", "x"),
        ("/v1/accounts", "parent_id", "partner"),
        ("/v2/terminals", "account_id", "partner"),
        ("/v1/locations", "account_id", "partner"),
        ("/v1/accounts/credentials", "account_id", "partner"),
    ],
)
def test_a_parameter_with_one_value_must_not_be_sent_twice(sandbox, path, name, value):
    sent = f"{name}={account_id(sandbox, value)}"

    for query in (f"{sent}&{sent}", f"{sent}&{name}="):
        assert name in detail(get(sandbox, path, query=query)), query


@pytest.mark.proves("assumed C12, 1.3-list")
@pytest.mark.parametrize(
    ("name", "value"),
    [("type", ""), ("type", "null"), ("type", "shop"), ("status", ""), ("status", "deleted")],
)
def test_an_enumerated_filter_of_accounts_takes_its_values_only(sandbox, name, value):
    answer = get(sandbox, "/v1/accounts", query=f"{name}={value}")

    assert name in detail(answer)


@pytest.mark.parametrize("plural", LISTINGS)
def test_an_unknown_parameter_is_ignored_and_the_journal_says_so(sandbox, plural):
    answer = get(sandbox, LISTINGS[plural], query="limt=3&limt=4")

    page, notes = shown(answer), sandbox.journal(answer)["notes"]

    assert page["limit"] == 50
    assert len(notes) == 1
    assert "'limt' is unknown and was ignored" in notes[0]
    assert "'limit'" in notes[0]


# --- paging through ---------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("plural", LISTINGS)
def test_paging_while_records_are_added_misses_none_and_keeps_their_order(sandbox, plural, size):
    for number in range(200, 206):
        add(sandbox, plural, number)
    there, _ = window(sandbox, plural, "limit=200")

    seen, offset = [], 0
    while True:
        ids, rest = window(sandbox, plural, f"limit={size}&offset={offset}")
        if not ids:
            break
        seen += ids
        offset += size
        if offset <= 6 * size:
            add(sandbox, plural, 300 + offset)

    assert list(dict.fromkeys(one for one in seen if one in there)) == there
    assert rest["total"] > len(there)


@pytest.mark.parametrize("plural", LISTINGS)
def test_a_deletion_shortens_the_listing_by_one_and_moves_nothing_else(sandbox, plural):
    made = [add(sandbox, plural, number) for number in range(200, 204)]
    before, _ = window(sandbox, plural)

    delete(sandbox, f"{LISTINGS[plural]}/{made[1]}")
    after, rest = window(sandbox, plural)

    assert after == [one for one in before if one != made[1]]
    assert rest["total"] == len(before) - 1


# --- whose records ----------------------------------------------------------------------------

OF_ACCOUNTS = ["terminals", "locations", "credentials"]

TREES = {
    "admin": [],
    "psp": ["partner", "other_partner", "merchant", "second_merchant", "other_merchant"],
    "partner": ["partner", "merchant", "second_merchant"],
    "other_partner": ["other_partner", "other_merchant"],
    "merchant": ["merchant"],
}
"""Caller to those accounts of HOLDERS that are in its hierarchy."""

HOLDERS = ["partner", "other_partner", "merchant", "second_merchant", "other_merchant"]


def one_each(sandbox, plural):
    """A new record on each of HOLDERS: the account's name to the record's id."""
    return {name: add(sandbox, plural, at + 500, name) for at, name in enumerate(HOLDERS)}


def holders_in(sandbox, plural, made, query="", by="partner"):
    ids, _ = window(sandbox, plural, query, by)
    return {name for name, id in made.items() if id in ids}


@pytest.mark.proves("spec 5.2", "assumed 4.7")
@pytest.mark.parametrize("plural", OF_ACCOUNTS)
def test_without_a_filter_a_listing_shows_the_callers_own_hierarchy(sandbox, plural):
    # assumed D6: an admin's too
    made = one_each(sandbox, plural)

    for by, names in TREES.items():
        assert holders_in(sandbox, plural, made, by=by) == set(names), by


@pytest.mark.proves("assumed 4.7-admin")
@pytest.mark.parametrize("by", ["psp", "admin"])
@pytest.mark.parametrize("plural", OF_ACCOUNTS)
def test_naming_an_account_shows_it_and_its_descendants(sandbox, plural, by):
    made = one_each(sandbox, plural)

    for named in ("psp", "partner", "other_partner", "merchant"):
        query = f"account_id={account_id(sandbox, named)}"
        assert holders_in(sandbox, plural, made, query, by) == set(TREES[named]), named


OUTSIDE = {
    "partner": ["other_partner", "other_merchant", "psp", "admin", "deleted_merchant"],
    "merchant": ["second_merchant", "partner", "psp", "other_merchant"],
    "psp": ["admin", "deleted_merchant"],
    "admin": ["deleted_merchant"],
}


@pytest.mark.proves("spec 7-404", "assumed D20, Q21")
@pytest.mark.parametrize("by", OUTSIDE)
@pytest.mark.parametrize("plural", LISTINGS)
def test_naming_an_account_outside_the_hierarchy_is_not_found(sandbox, plural, by):
    # assumed D20
    name = "parent_id" if plural == "accounts" else "account_id"

    for named in (*OUTSIDE[by], NOBODY):
        query = f"{name}={account_id(sandbox, named)}"
        detail(get(sandbox, LISTINGS[plural], by=by, query=query), 404, "not_found")


ACCOUNTS = {
    "admin": {"admin"},
    "merchant": {"merchant"},
    "other_partner": {"other_partner", "other_merchant"},
    "partner": {
        *("partner", "merchant", "second_merchant", "blocked_merchant", "surcharge_merchant"),
        *("quiet_surcharge_merchant", "tax_merchant", "passthrough_merchant"),
    },
}


def names_in(sandbox, query, by):
    ids, rest = window(sandbox, "accounts", query, by)
    cast = sandbox.sandbox.worlds.get("default").cast.accounts
    assert rest["total"] == len(ids)
    return {name for name, id in cast.items() if id in ids}


@pytest.mark.proves("assumed 1.3-list")
@pytest.mark.parametrize("by", ACCOUNTS)
def test_accounts_are_listed_with_the_callers_own_among_them(sandbox, by):
    assert names_in(sandbox, "", by) == ACCOUNTS[by]


@pytest.mark.proves("assumed D20")
@pytest.mark.parametrize("by", ["psp", "admin"])
def test_accounts_of_a_parent_are_its_children_only(sandbox, by):
    # assumed D20
    query = f"parent_id={account_id(sandbox, 'psp')}"

    assert names_in(sandbox, query, by) == {"partner", "other_partner"}


@pytest.mark.proves("assumed 1.3-list")
@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("type=partner", {"partner"}),
        ("type=admin", set()),
        ("status=blocked", {"blocked_merchant"}),
        ("type=merchant&status=blocked", {"blocked_merchant"}),
        ("type=partner&status=blocked", set()),
        ("search=BISTRO", {"merchant"}),
        ("search=s&type=partner", {"partner"}),
        ("search=salon&status=active", set()),
        ("search=Closed", set()),
        ("type=merchant&status=active&search=a%20h", set()),
        ("type=merchant&status=active&search=avenue%20h", {"quiet_surcharge_merchant"}),
    ],
)
def test_each_filter_of_accounts_alone_and_with_others(sandbox, query, names):
    assert names_in(sandbox, query, "partner") == names


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("&type=merchant&search=bistro", {"merchant"}),
        ("&status=blocked", {"blocked_merchant"}),
        ("&type=partner", set()),
    ],
)
def test_filters_hold_among_the_children_of_a_parent(sandbox, query, names):
    asked = f"parent_id={account_id(sandbox, 'partner')}{query}"

    assert names_in(sandbox, asked, "psp") == names
