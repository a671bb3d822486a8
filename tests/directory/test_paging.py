"""Windows on the four listings of the directory, and whose records they show. Assumed 0.5, C12."""

import pytest

from tests.driving import InProcess
from tests.support.directory import LISTINGS

KEYS = {"accounts": "id", "terminals": "terminal_id", "locations": "id", "credentials": "id"}


def add(sandbox, plural, number, account="merchant", by="psp"):
    """One more record of the kind, in the partner's tree; its id."""
    if plural == "accounts":
        parent = account if account.endswith("partner") else "partner"
        return sandbox.an_account(by=by, parent_id=sandbox.account_id(parent))["id"]
    if plural == "terminals":
        return sandbox.a_terminal(account, by=by, tid=f"{number:08d}")["terminal_id"]
    create = InProcess.a_location if plural == "locations" else InProcess.a_credential
    return create(sandbox, account, by=by)["id"]


def window(sandbox, plural, query="", by="partner"):
    """A listing: the ids in it, and the rest of the answer."""
    page = sandbox.get(LISTINGS[plural], by=by, query=query).expect(200)
    rows = page.pop(plural)
    return [row[KEYS[plural]] for row in rows], page


# --- shape and order --------------------------------------------------------------------------


@pytest.mark.proves("spec 4.4-paths-gap", "assumed 0.5-lists, Q28, 1.3-list, 1.4-list, 1.6")
def test_a_listing_shows_total_limit_offset_and_page_beside_its_rows_newest_first(sandbox):
    for plural, total in {"accounts": 8, "terminals": 7, "locations": 8, "credentials": 0}.items():
        page = sandbox.get(LISTINGS[plural]).expect(200)
        assert list(page) == [plural, "total", "limit", "offset", "page"]
        assert list(page.values())[1:] == [total, 50, 0, 1]
        assert len(page[plural]) == total
        # All of them are made at one instant.
        added = [add(sandbox, plural, number) for number in range(100, 105)]
        assert window(sandbox, plural)[0][:5] == added[::-1]
        for row in sandbox.get(LISTINGS[plural]).expect(200)[plural]:
            assert sandbox.get(f"{LISTINGS[plural]}/{row[KEYS[plural]]}").expect(200) == row


def test_a_record_made_later_with_an_earlier_clock_still_comes_first(sandbox):
    first = add(sandbox, "locations", 1)
    sandbox.set_clock("2025-12-01T00:00:00Z")
    second = add(sandbox, "locations", 2)

    assert window(sandbox, "locations")[0][:2] == [second, first]


# Limit, offset, page, and how many rows.
WINDOWS = [
    *((1, 0, 1, 1), (1, 6, 7, 1), (3, 0, 1, 3), (3, 2, 1, 3), (3, 3, 2, 3), (3, 6, 3, 1)),
    *((3, 7, 3, 0), (200, 0, 1, 7), (200, 6, 1, 1), (2, 1_000_000, 500_001, 0)),
    (7, 999_999_999_999, 142_857_142_858, 0),
]


@pytest.mark.proves("assumed 0.5-lists, 1.3-list, 1.4-list")
def test_the_page_is_counted_from_limit_and_offset(sandbox):
    everything, _ = window(sandbox, "terminals")

    for limit, offset, page, rows in WINDOWS:
        ids, rest = window(sandbox, "terminals", f"limit={limit}&offset={offset}")
        assert rest == {"total": 7, "limit": limit, "offset": offset, "page": page}
        assert ids == everything[offset : offset + limit]
        assert len(ids) == rows


# --- what is refused --------------------------------------------------------------------------

NO_NUMBERS = ["abc", "", "null", "-1", "1.5", "%2B1", "+1", "1e2"]
REFUSED = {
    "limit": [*NO_NUMBERS, "0", "201", "0x10", "10%20", "99999"],
    "offset": [*NO_NUMBERS, "-0", "%D9%A1", "9" * 19],
}
ONCE = {
    "/v1/accounts": ["search=x", "type=merchant", "status=active", "parent_id=partner"],
    "/v2/accounts": [],
    "/v2/terminals": [
        *("search=x", "status=active", "account_id=partner"),
        *("processor_config_id=x", "processor_mid=x", "processor_tid=x"),
    ],
    "/v1/locations": ["status=active", "search=x", "account_id=partner"],
    "/v1/accounts/credentials": ["account_id=partner"],
}


@pytest.mark.proves("assumed C12, 1.3-list, 1.4-list")
def test_a_parameter_has_a_value_that_it_takes_and_only_one(sandbox):
    for path, parameters in ONCE.items():
        for name, values in REFUSED.items():
            for value in values:
                assert name in sandbox.get(path, query=f"{name}={value}").detail(), (path, value)
        for parameter in ["limit=5", "offset=0", *parameters]:
            name, _, value = parameter.partition("=")
            sent = f"{name}={sandbox.account_id(value)}"
            for query in (f"{sent}&{sent}", f"{sent}&{name}="):
                assert name in sandbox.get(path, query=query).detail(), (path, query)
    said = sandbox.get("/v1/batches", query="limit=01").detail()
    assert "limit: must be a whole number, written in digits only" in said
    for path in ("/v1/accounts", "/v2/terminals"):
        for value in ("", "null", "deleted", "Active", "active,blocked"):
            assert "status" in sandbox.get(path, query=f"status={value}").detail(), value
    for value in ("", "null", "shop"):
        assert "type" in sandbox.get("/v1/accounts", query=f"type={value}").detail(), value


def test_an_unknown_parameter_is_ignored_and_the_journal_says_so(sandbox):
    for path in LISTINGS.values():
        answer = sandbox.get(path, query="limt=3&limt=4")
        (note,) = sandbox.journal(answer)["notes"]
        assert answer.expect(200)["limit"] == 50
        assert "'limt' is unknown and was ignored" in note
        assert "'limit'" in note
    many = [f"u{number}=1" for number in range(501)]
    assert sandbox.get("/v1/accounts", query="&".join(many[1:])).status == 200
    said = sandbox.get("/v1/accounts", query="&".join(many)).detail()
    assert said.endswith("the query has more than 500 parameters")


# --- whose records ----------------------------------------------------------------------------

TREES = {
    "admin": [],
    "psp": ["partner", "other_partner", "merchant", "second_merchant", "other_merchant"],
    "partner": ["partner", "merchant", "second_merchant"],
    "other_partner": ["other_partner", "other_merchant"],
    "merchant": ["merchant"],
}
"""Caller to those accounts of HOLDERS that are in its hierarchy."""

HOLDERS = TREES["psp"]


@pytest.mark.proves("spec 5.2", "assumed 4.7, 4.7-admin")
@pytest.mark.parametrize("plural", ["terminals", "locations", "credentials"])
def test_a_listing_shows_the_hierarchy_of_the_caller_or_of_the_account_it_names(sandbox, plural):
    made = {name: add(sandbox, plural, at + 500, name) for at, name in enumerate(HOLDERS)}

    def holders(query="", by="partner"):
        ids, _ = window(sandbox, plural, query, by)
        return [name for name, id in made.items() if id in ids]

    # assumed D6: an admin's too
    for by, names in TREES.items():
        assert set(holders(by=by)) == set(names), by
    for by in ("psp", "admin"):
        for named in ("psp", "partner", "other_partner", "merchant"):
            query = f"account_id={sandbox.account_id(named)}"
            assert set(holders(query, by)) == set(TREES[named]), named


BELOW_PARTNER = {
    *("merchant", "second_merchant", "blocked_merchant", "surcharge_merchant"),
    *("quiet_surcharge_merchant", "tax_merchant", "passthrough_merchant"),
}
# Who asks for accounts, of which parent, with which filters, and what is listed.
ACCOUNTS = [
    ("admin", "", "", {"admin"}),
    ("merchant", "", "", {"merchant"}),
    ("partner", "", "", {"partner", *BELOW_PARTNER}),
    # assumed D20: of a parent, the children only.
    ("psp", "psp", "", {"partner", "other_partner"}),
    ("admin", "psp", "", {"partner", "other_partner"}),
    ("partner", "", "type=partner", {"partner"}),
    ("partner", "", "type=admin", set()),
    ("partner", "", "status=blocked", {"blocked_merchant"}),
    ("partner", "", "type=merchant&status=blocked", {"blocked_merchant"}),
    ("partner", "", "search=BISTRO", {"merchant"}),
    ("partner", "", "search=s&type=partner", {"partner"}),
    ("partner", "", "search=salon&status=active", set()),
    ("partner", "", "search=Closed", set()),
    ("partner", "", "type=merchant&status=active&search=a%20h", set()),
    ("partner", "", "type=merchant&status=active&search=avenue%20h", {"quiet_surcharge_merchant"}),
    ("psp", "partner", "type=merchant&search=bistro", {"merchant"}),
    ("psp", "partner", "status=blocked", {"blocked_merchant"}),
]


@pytest.mark.proves("assumed 1.3-list, 1.3-alias, D20")
def test_each_filter_of_accounts_alone_and_with_others_under_either_version(sandbox):
    for by, parent, filters, expected in ACCOUNTS:
        query = (f"parent_id={sandbox.account_id(parent)}&" if parent else "") + filters
        ids, rest = window(sandbox, "accounts", query, by)
        found = {name for name, id in sandbox.cast.accounts.items() if id in ids}
        assert found == expected, (by, parent, filters)
        assert rest["total"] == len(ids)
        newer = sandbox.get("/v2/accounts", by=by, query=query)
        assert newer.body == sandbox.get("/v1/accounts", by=by, query=query).body
