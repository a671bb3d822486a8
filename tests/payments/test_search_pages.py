"""Pages of the search, their order, what they show after a change; the older list; histories.

Source: spec 4.3-search-page, 4.3-search-v1, 8-page; assumed 1.7, D7, D20.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.domain.instants import parse_rfc3339
from sandbox.domain.profile import Profile
from tests.directory.making import a_terminal, account_id, set_clock, shown
from tests.platform.minting import sandbox_with
from tests.properties import examples
from tests.support.payments import (
    act,
    acted,
    ask,
    found,
    held,
    pay,
    read,
    refused,
    search,
    sold,
)

V1 = "/v1/transactions"


def ids_of(transactions):
    return [tx["transaction_id"] for tx in transactions]


def made(sandbox, count, **more):
    """The ids of new sales, oldest first."""
    return [sold(sandbox, 100 + n, **more)["transaction_id"] for n in range(count)]


# --- pages ------------------------------------------------------------------------------------


@pytest.mark.proves("spec 4.3-search-answer, 4.3-search-page, 8-page", "assumed 0.5-lists")
def test_a_page_shows_whole_transactions_total_limit_offset_and_page(sandbox):
    ids = made(sandbox, 3)

    page = search(sandbox)

    assert list(page) == ["transactions", "total", "limit", "offset", "page"]
    assert page == {
        "transactions": [read(sandbox, id) for id in ids[::-1]],
        "total": 3,
        "limit": 50,
        "offset": 0,
        "page": 1,
    }


@pytest.mark.proves("spec 4.3-search-page, 4.3-search-answer")
@pytest.mark.parametrize(
    ("limit", "offset", "page", "rows"),
    [(1, 0, 1, 1), (3, 3, 2, 3), (3, 5, 2, 2), (3, 6, 3, 1), (3, 7, 3, 0), (200, 0, 1, 7)],
)
def test_the_page_is_counted_from_limit_and_offset(sandbox, limit, offset, page, rows):
    ids = made(sandbox, 7)[::-1]

    shown_page = search(sandbox, f"limit={limit}&offset={offset}")

    assert ids_of(shown_page["transactions"]) == ids[offset : offset + limit]
    assert len(shown_page["transactions"]) == rows
    assert (shown_page["total"], shown_page["page"]) == (7, page)


@pytest.mark.proves("spec 4.3-search-page, 8-page")
@pytest.mark.parametrize("limit", ["1", "200"])
def test_limits_from_1_to_200_are_served(sandbox, limit):
    assert search(sandbox, f"limit={limit}")["limit"] == int(limit)


@pytest.mark.proves("spec 4.3-search-page, 8-page", "assumed D7, C12")
@pytest.mark.parametrize("limit", ["0", "201", "500", "99999999"])
def test_other_limits_are_refused_and_never_clamped(sandbox, limit):
    # assumed D7: a silent clamp hides a client's mistake.
    answer = ask(sandbox, "GET", "/v2/transactions", query=f"limit={limit}")

    assert "limit" in refused(sandbox, answer)


QUERIES = [
    "",
    "status=captured",
    "status=captured&status=authorized&sort_by=total_amount",
    "min_amount=100&sort_by=total_amount&sort_order=asc",
    "card_brand=Visa&sort_order=asc",
]


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("query", QUERIES)
def test_pages_put_together_are_the_whole_and_nothing_twice(sandbox, query, size):
    made(sandbox, 4)
    for _ in range(3):
        sold(sandbox, 100)
        held(sandbox, 500)
    whole = found(sandbox, f"limit=200&{query}")

    parts = [found(sandbox, f"limit={size}&offset={at}&{query}") for at in range(0, 11, size)]

    assert [id for part in parts for id in part] == whole
    assert len(whole) == len(set(whole)) == (7 if query == "status=captured" else 10)


def test_paging_up_to_a_moment_is_not_disturbed_by_what_comes_later(sandbox):
    ids = made(sandbox, 6)
    until = read(sandbox, ids[-1])["created_at"]
    first = found(sandbox, f"limit=3&end_date={until}")

    set_clock(sandbox, "2026-03-01T12:00:00.001Z")
    made(sandbox, 2)
    second = found(sandbox, f"limit=3&offset=3&end_date={until}")

    assert first + second == ids[::-1]


# --- order ------------------------------------------------------------------------------------


def test_with_a_clock_that_was_set_back_the_newest_by_created_at_come_first(sandbox):
    noon = sold(sandbox)["transaction_id"]
    set_clock(sandbox, "2026-02-01T00:00:00Z")
    earlier = made(sandbox, 2)
    set_clock(sandbox, "2026-03-05T00:00:00Z")
    later = sold(sandbox)["transaction_id"]

    expected = [later, noon, *earlier[::-1]]

    assert found(sandbox) == expected
    assert found(sandbox, "sort_order=asc") == expected[::-1]
    assert found(sandbox, "status=captured&card_brand=Visa") == expected
    assert ids_of(shown(ask(sandbox, "GET", V1))) == expected
    february = int(parse_rfc3339("2026-02-01T00:00:00Z").timestamp() * 1000)
    assert found(sandbox, f"start_date={february}&end_date={february}") == earlier[::-1]


# --- what a search shows after a change -------------------------------------------------------

ASKED = [
    "status=captured&limit=200",
    "status=refunded&status=reversed&limit=200",
    "transaction_type=sale&card_brand=Visa&limit=200",
    "min_amount=1000&sort_by=total_amount&limit=200",
    "status=captured&sort_by=total_amount&sort_order=asc&limit=200",
    "search_term=bistro&max_amount=1500&limit=200",
]

PREDICATES = [
    lambda tx: tx["status"] == "captured",
    lambda tx: tx["status"] in ("refunded", "reversed"),
    lambda tx: tx["transaction_type"] == "sale",
    lambda tx: tx["total_amount"] >= 1000,
    lambda tx: tx["status"] == "captured",
    lambda tx: tx["total_amount"] <= 1500,
]

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["sale", "auth", "adjust", "refund", "reverse", "capture", "auth more"]),
        st.integers(0, 8),
        st.integers(500, 1600),
    ),
    min_size=2,
    max_size=12,
)


def take(sandbox, ids, step, place, amount):
    """One step of a story, on one of the payments so far. It may well be refused."""
    if step in ("sale", "auth") or not ids:
        ids.append(shown(pay(sandbox, amount, operation="auth" if step == "auth" else "sale")))
        return
    tx = ids[place % len(ids)]
    if step == "adjust":
        act(sandbox, tx, "adjust", type="fixed", amount=amount % 500)
    elif step == "auth more":
        act(sandbox, tx, "increment", amount=amount)
    else:
        act(sandbox, tx, step)


@pytest.mark.proves("assumed 1.7-values")
@settings(max_examples=examples(40))
@given(steps=STEPS)
def test_a_search_that_is_repeated_shows_every_change_that_was_made_since(steps):
    sandbox = sandbox_with(Profile())
    made_so_far: list[dict] = []

    for step in steps:
        take(sandbox, made_so_far, *step)
        now = [read(sandbox, tx) for tx in made_so_far]
        for query, holds in zip(ASKED, PREDICATES, strict=True):
            left = [tx for tx in now if holds(tx)]
            if "sort_by" in query:
                left.sort(key=lambda tx: tx["total_amount"])
            expected = ids_of(left if "asc" in query else left[::-1])
            assert found(sandbox, query) == expected, query


# --- the older list ---------------------------------------------------------------------------


@pytest.mark.proves("spec 4.3-search-v1, 4.4-paths-transactions, 9.3", "assumed 1.7-v1")
def test_the_older_list_is_a_bare_array_of_whole_transactions_newest_first(sandbox):
    ids = made(sandbox, 3)

    listed = shown(ask(sandbox, "GET", V1))

    assert listed == [read(sandbox, id) for id in ids[::-1]]


@pytest.mark.proves("spec 9.6", "assumed 1.7-v1, D20")
def test_the_older_list_has_100_unless_asked_and_500_at_most(sandbox):
    # spec 9.6, assumed D20
    ids = made(sandbox, 103)[::-1]

    sizes = {
        query: ids_of(shown(ask(sandbox, "GET", V1, query=query)))
        for query in ("", "limit=101", "limit=500", "offset=100", "limit=2&offset=1")
    }

    assert sizes == {
        "": ids[:100],
        "limit=101": ids[:101],
        "limit=500": ids,
        "offset=100": ids[100:],
        "limit=2&offset=1": ids[1:3],
    }


@pytest.mark.proves("assumed D20")
@pytest.mark.parametrize("value", ["0", "501", "", "null", "-1", "x"])
def test_the_older_list_refuses_other_limits(sandbox, value):
    answer = ask(sandbox, "GET", V1, query=f"limit={value}")

    assert "limit" in refused(sandbox, answer)


@pytest.mark.proves("assumed 1.7-v1")
def test_the_older_list_has_the_older_filters(sandbox):
    used = a_terminal(sandbox)["terminal_id"]
    tx = sold(sandbox, at=used, event_id="mine", reader_identifier="cd" * 32)
    other = sold(sandbox, at="second_merchant")
    both = ids_of([other, tx])

    def ids(query):
        return ids_of(shown(ask(sandbox, "GET", V1, query=query)))

    for name in ("mid", "tid", "account_id", "gateway_transaction_id", "reader_identifier"):
        assert ids(f"{name}={tx[name]}") == [tx["transaction_id"]], name
    assert ids("event_id=mine") == [tx["transaction_id"]]
    assert ids(f"location_id={other['location_id']}") == [other["transaction_id"]]
    assert ids(f"account_id={account_id(sandbox, 'partner')}") == both
    # What the older list has no filter for is ignored, as everywhere (assumed C8).
    assert ids("status=refunded&min_amount=5000") == both
    assert ids(f"mid={tx['mid']}&event_id=other") == []


@pytest.mark.proves("assumed 2.6")
def test_the_older_list_looks_up_what_became_of_an_event_id(sandbox):
    # assumed 2.6: this is how a client that got no answer recovers.
    tx = held(sandbox, event_id="lost")
    acted(sandbox, tx, "capture", event_id="lost-too")

    for event_id in ("lost", "lost-too"):
        (seen,) = shown(ask(sandbox, "GET", V1, query=f"event_id={event_id}", by="merchant"))
        assert seen == read(sandbox, tx)
    assert shown(ask(sandbox, "GET", V1, query="event_id=never")) == []


# --- detail, history, and what is retired -----------------------------------------------------


@pytest.mark.proves("spec 2.4-history, 4.3-search-v1", "assumed 1.7-history, 2.10, M11")
def test_the_history_has_every_attempt_oldest_first_and_only_grows(sandbox):
    tx = held(sandbox, 1000)
    kept = [shown(ask(sandbox, "GET", f"{V1}/{tx['transaction_id']}/history"))]

    acted(sandbox, tx, "increment", amount=200)
    acted(sandbox, tx, "capture", outcome="capture_declined")
    act(sandbox, tx, "adjust", type="fixed", amount=1)
    act(sandbox, tx, "refund")
    acted(sandbox, tx, "capture", amount=900)
    kept.append(shown(ask(sandbox, "GET", f"{V1}/{tx['transaction_id']}/history")))

    before, after = kept
    assert after[: len(before)] == before
    assert [(one["transaction_type"], one["status"], one["amount"]) for one in after] == [
        ("auth", "pending", 1000),
        ("auth", "authorized", 1000),
        ("incremental_auth", "authorized", 200),
        ("capture", "declined", 1200),
        ("tip_adjust", "error", 1),
        ("capture", "captured", 900),
    ]
    assert after == read(sandbox, tx)["history"]


@pytest.mark.proves("spec 4.3-search-retired, 7-405, 9.3", "assumed C3")
@pytest.mark.parametrize("by", ["merchant", "revoked", "svc_live_x", ""])
@pytest.mark.parametrize("body", [{}, {"status": ["captured"]}, None, "x"])
def test_the_retired_search_is_a_405_for_every_caller_and_body(sandbox, by, body):
    # spec 4.3-search-retired; before authentication, assumed C3
    before = sandbox.state()

    answer = sandbox.ask("POST", f"{V1}/search", key=by or None, json_body=body)

    assert refused(sandbox, answer, 405, "method_not_allowed", clause="spec 4.3-search-retired")
    assert answer.headers.get("allow") in (None, "GET")
    assert sandbox.state() == before
