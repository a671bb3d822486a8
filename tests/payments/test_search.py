"""The search of transactions: every filter, alone and together with others, against a naive model.

Source: spec 4.3-search; the filters assumed 1.7.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product
from operator import ge, le
from random import Random
from typing import Any
from urllib.parse import urlencode

import pytest

from sandbox.domain.instants import parse_rfc3339
from sandbox.domain.payments.transactions import STATUSES
from sandbox.domain.profile import Profile
from tests.driving import InProcess, fresh
from tests.profiles import BRANDED, NEUTRAL
from tests.properties import examples
from tests.support.directory import NOBODY

# --- a world with something of everything -----------------------------------------------------


@dataclass(frozen=True)
class World:
    """A sandbox with payments in it, and these as they are shown, oldest first."""

    sandbox: InProcess
    payments: tuple[dict[str, Any], ...]


@cache
def busy_world(profile: Profile = NEUTRAL) -> World:
    """Payments of many merchants and terminals, in every status there is."""
    sandbox = fresh(profile=profile)
    counter = sandbox.a_terminal()["terminal_id"]
    sandbox.sold(1000, event_id="first-sale")
    sandbox.settled(sandbox.sold(500, at=counter)["batch_id"])
    sandbox.set_clock("2026-03-01T13:00:00Z")
    sandbox.sold(1000, card_reader_data={"paymentCardData": "tok_amex"}, event_id="shared")
    sandbox.sold(700, at="second_merchant", event_id="shared", payment_method="keyed")
    sandbox.pay(1500, outcome="do_not_honor")
    sandbox.pay(1500, outcome="processor_timeout", at="second_merchant")
    sandbox.pay(2500, outcome="user_canceled", at=counter)
    sandbox.set_clock("2026-03-01T13:00:00.001Z")
    tx = sandbox.held(2000, reader_identifier="ab" * 32)
    sandbox.acted(tx, "increment", amount=500)
    sandbox.acted(tx, "capture", event_id="the-capture")
    sandbox.acted(sandbox.held(300), "reverse")
    elsewhere = sandbox.held(300, at="other_merchant", by="psp")
    sandbox.acted(elsewhere, "increment", amount=9, by="psp")
    sandbox.set_clock("2026-03-02T09:30:00Z")
    sandbox.acted(sandbox.sold(1000, at=counter), "refund")
    sandbox.acted(sandbox.sold(1200), "adjust", type="fixed", amount=200)
    sandbox.acted(sandbox.sold(1000), "refund", amount=1, event_id="part")
    sandbox.act(sandbox.sold(1000), "refund", outcome="refund_declined", event_id="failed")
    sandbox.pay(4000, at="surcharge_merchant")
    sandbox.pay(800, at="passthrough_merchant")
    place = {"location_id": sandbox.location_id("merchant_patio")}
    sandbox.sold(900, terminal_id=sandbox.terminal_id("merchant"), **place)
    sandbox.sold(400, card_reader_data={"paymentCardData": "tok_mc_debit"})
    rows = [sandbox.read(id, by="psp") for id in sandbox.found("limit=200&sort_order=asc")]
    return World(sandbox, tuple(rows))


# --- the naive model --------------------------------------------------------------------------

Pairs = list[tuple[str, str]]

EXACT = (
    *("batch_id", "location_id", "terminal_id", "tid", "mid", "processor_mid", "processor_tid"),
    *("owner_id", "card_brand", "payment_method", "reader_identifier", "gateway_transaction_id"),
    "transaction_id",
)
REPEATABLE = ("account_id", "status", "transaction_type")
RANGES = {
    "min_amount": ("total_amount", ge),
    "max_amount": ("total_amount", le),
    "start_date": ("created_at", ge),
    "end_date": ("created_at", le),
}
FILTERS = [*REPEATABLE, *EXACT, *RANGES, "event_id", "card_number"]


def seen_of(tx: dict[str, Any], name: str) -> list[Any]:
    """The values of a filter by which a payment, as it is shown, is found: assumed 1.7."""
    if name == "account_id":
        return [*tx["parent_account_ids"], tx["account_id"]]
    if name == "event_id":
        return [attempt["event_id"] for attempt in tx["history"]]
    if name == "card_number":
        card = tx["card"]
        return [card[:6], card[:10], card, card[-4:]] if card else []
    return [tx["tid" if name == "terminal_id" else name]]


def fits(tx: dict[str, Any], name: str, values: list[str]) -> bool:
    if name in RANGES:
        field, holds = RANGES[name]
        return bool(holds(tx[field], int(values[0])))
    return any(value in seen_of(tx, name) for value in values)


def expected(world: World, pairs: Pairs) -> list[str]:
    """The ids that a search by the PSP should give, newest first or as the query sorts."""
    wanted: dict[str, list[str]] = {}
    for name, value in pairs:
        wanted.setdefault(name, []).append(value)
    (by,), (order,) = wanted.pop("sort_by", ["created_at"]), wanted.pop("sort_order", ["desc"])
    left = [
        tx for tx in world.payments if all(fits(tx, name, some) for name, some in wanted.items())
    ]
    if by == "total_amount":
        left.sort(key=lambda tx: tx["total_amount"])
    if order == "desc":
        left.reverse()
    return [tx["transaction_id"] for tx in left]


def values_of(world: World, name: str) -> list[str]:
    """What may be asked for with a filter: everything that occurs, its neighbours, and nothing."""
    if name in RANGES:
        seen = {tx[RANGES[name][0]] for tx in world.payments}
        return sorted(str(one + by) for one in seen for by in (-1, 0, 1))
    unknown = {
        "account_id": {world.sandbox.account_id("tax_merchant")},
        "card_number": {"0000", "999999"},
        "status": set(),
        "transaction_type": set(),
    }
    seen = {one for tx in world.payments for one in seen_of(tx, name) if one}
    return sorted(seen | unknown.get(name, {"no-such"}))


def some_together(world: World, chance: Random) -> Pairs:
    pairs: Pairs = []
    for name in chance.sample(FILTERS, chance.randint(1, 4)):
        values = values_of(world, name)
        most = min(len(values), 3) if name in REPEATABLE else 1
        pairs += [(name, one) for one in chance.sample(values, chance.randint(1, most))]
    pairs.append(("sort_by", chance.choice(["created_at", "total_amount"])))
    pairs.append(("sort_order", chance.choice(["asc", "desc"])))
    chance.shuffle(pairs)
    return pairs


@pytest.mark.proves(
    "spec 4.3-search, 4.3-search-account, 4.3-search-status, 4.3-search-type",
    "spec 4.3-search-min-amount, 4.3-search-dates",
    "assumed 1.7, 1.7-dates, 1.7-filters, 1.7-amounts, 1.7-values, Q20",
)
def test_each_filter_alone_and_some_together_find_what_the_model_finds():
    world, chance = busy_world(), Random(7)
    assert {tx["status"] for tx in world.payments} == set(STATUSES)
    alone = [[(name, value)] for name in FILTERS for value in values_of(world, name)]
    together = [some_together(world, chance) for _ in range(examples(300))]

    for pairs in (*alone, *together):
        page = world.sandbox.search(f"limit=200&{urlencode(pairs)}")

        assert ids_of(page["transactions"]) == expected(world, pairs), pairs
        assert page["total"] == len(page["transactions"])
    for name in FILTERS:
        assert any(expected(world, [(name, value)]) for value in values_of(world, name)), name


# --- what is compared -------------------------------------------------------------------------


def test_a_search_ignores_case_and_sees_only_visible_records():
    world = busy_world()
    tids, latest = sorted({tx["tid"] for tx in world.payments}), world.payments[-1]
    seen = {by: len(world.sandbox.found("event_id=shared", by=by)) for by in ("psp", "merchant")}

    assert seen == {"psp": 2, "merchant": 1}
    assert world.sandbox.found(f"tid={tids[0]}&terminal_id={tids[1]}") == []
    for field in ("merchant_name", "card", "transaction_id", "event_id"):
        text = latest[field]
        for term in (text.upper(), text.lower(), text[1:-1]):
            query = urlencode({"search_term": term})
            assert latest["transaction_id"] in world.sandbox.found(query), term
    assert world.sandbox.found("search_term=no-such-thing") == []


# --- whose payments ---------------------------------------------------------------------------


@pytest.mark.proves("spec 4.3-search-scope", "assumed D6, 4.7-admin")
def test_without_an_account_a_search_covers_the_callers_own_tree():
    world = busy_world()
    names = ("psp", "partner", "other_partner", "merchant", "second_merchant", "other_merchant")

    for name in names:
        ids = world.sandbox.found("limit=200", by=name)
        assert ids == expected(world, [("account_id", world.sandbox.account_id(name))]), name
        assert ids
    # An admin's own tree is empty; it may name an account anywhere.
    assert world.sandbox.search(by="admin")["total"] == 0
    merchant, other = (world.sandbox.account_id(one) for one in ("merchant", "other_merchant"))
    for pairs in ([("account_id", merchant)], [("account_id", merchant), ("account_id", other)]):
        ids = world.sandbox.found(f"limit=200&{urlencode(pairs)}", by="admin")
        assert ids == expected(world, pairs)


@pytest.mark.proves("spec 4.3-search-account", "assumed 1.7-account, D20, Q21")
def test_an_account_outside_the_hierarchy_is_a_404_and_one_named_twice_counts_once():
    world = busy_world()

    for path in ("/v2/transactions", "/v1/transactions", "/v1/batches"):
        for outside in ("other_merchant", "other_partner", "psp", "admin", NOBODY):
            query = f"account_id={world.sandbox.account_id(outside)}"
            answer = world.sandbox.get(path, by="partner", query=query)
            world.sandbox.refused(answer, 404, "not_found", clause="spec 7-404")
    names = ["merchant", "merchant", "partner", "psp"]
    pairs = [("account_id", world.sandbox.account_id(name)) for name in names]
    assert world.sandbox.search(f"limit=200&{urlencode(pairs)}")["total"] == 18


# --- what is refused --------------------------------------------------------------------------

NO_NUMBERS = ["", "null", "-1", "1.0", "1e3", "abc", "0x1", "+1", "%2B1", "9" * 30, "%D9%A1"]
NO_WORDS = ["", "null", "CAPTURED", "captured,settled", "sale;auth", "x"]
REFUSED = {
    **dict.fromkeys(("min_amount", "max_amount", "start_date", "end_date", "offset"), NO_NUMBERS),
    **dict.fromkeys(("status", "transaction_type", "sort_by", "sort_order"), NO_WORDS),
    # A silent clamp would hide a client's mistake (assumed D7).
    "limit": [*NO_NUMBERS, "0", "201", "500", "99999999"],
    "card_number": ["12", "12345", "4761%2A%2A", "abcd", "", "4761730000000011"],
}
"""Values that a parameter cannot have: neither empty nor the text null may be sent."""


@pytest.mark.proves(
    "spec 4.3-search-min-amount, 4.3-search-empty, 4.3-search-page, 8-page", "assumed C12, D7"
)
def test_a_filter_that_cannot_be_or_is_sent_twice_is_refused_and_named():
    world = busy_world()

    for name in (*REFUSED, "event_id", "tid"):
        for value in (*REFUSED.get(name, ()), f"1&{name}=1"):
            answer = world.sandbox.get("/v2/transactions", query=f"{name}={value}")
            assert name in world.sandbox.refused(answer), value
    # A misspelt status names the nearest.
    answer = world.sandbox.get("/v2/transactions", query="status=captued")
    assert "captured" in world.sandbox.refused(answer)


@pytest.mark.proves("spec 4.3-search-dates")
def test_under_a_profile_the_dates_have_its_names_and_ours_mean_nothing():
    world = busy_world(BRANDED)
    first, last = (world.payments[place]["created_at"] for place in (2, 8))

    ids = world.sandbox.found(f"limit=200&from={first}&to={last}")

    assert ids == expected(world, [("start_date", str(first)), ("end_date", str(last))])
    assert 0 < len(ids) < len(world.payments)
    assert world.sandbox.search(f"start_date={last}&end_date={first}")["total"] == 18


# --- pages and order --------------------------------------------------------------------------

V1 = "/v1/transactions"


def ids_of(transactions):
    return [tx["transaction_id"] for tx in transactions]


def made(sandbox, count, **more):
    """The ids of new sales, oldest first."""
    return [sandbox.sold(100 + n, **more)["transaction_id"] for n in range(count)]


@pytest.mark.proves("spec 4.3-search-answer, 4.3-search-page, 8-page", "assumed 0.5-lists")
def test_a_page_shows_whole_transactions_total_limit_offset_and_page(sandbox):
    ids = made(sandbox, 7)[::-1]

    page = sandbox.search()

    assert list(page) == ["transactions", "total", "limit", "offset", "page"]
    shown = [sandbox.read(id) for id in ids]
    assert page == {"transactions": shown, "total": 7, "limit": 50, "offset": 0, "page": 1}
    for limit, offset, number in (*((1, 0, 1), (3, 3, 2), (3, 5, 2), (3, 7, 3)),):
        page = sandbox.search(f"limit={limit}&offset={offset}")
        assert ids_of(page["transactions"]) == ids[offset : offset + limit]
        assert (page["total"], page["limit"], page["page"]) == (7, limit, number)


def test_with_a_clock_that_was_set_back_the_newest_by_created_at_come_first(sandbox):
    noon = sandbox.sold()["transaction_id"]
    sandbox.set_clock("2026-02-01T00:00:00Z")
    earlier = made(sandbox, 2)
    sandbox.set_clock("2026-03-05T00:00:00Z")
    later = sandbox.sold()["transaction_id"]

    newest_first = [later, noon, *earlier[::-1]]

    assert sandbox.found() == newest_first
    assert sandbox.found("sort_order=asc") == newest_first[::-1]
    assert ids_of(sandbox.get(V1).expect(200)) == newest_first
    february = int(parse_rfc3339("2026-02-01T00:00:00Z").timestamp() * 1000)
    assert sandbox.found(f"start_date={february}&end_date={february}") == earlier[::-1]


# --- the older list ---------------------------------------------------------------------------


@pytest.mark.proves("spec 4.3-search-v1, 4.4-paths-transactions, 9.3, 9.6", "assumed 1.7-v1, D20")
def test_the_older_list_is_a_bare_array_of_100_newest_first_and_of_500_at_most(sandbox):
    ids = made(sandbox, 103)[::-1]

    assert sandbox.get(V1).expect(200) == [sandbox.read(id) for id in ids[:100]]
    for query, expected_ids in {
        "limit=101": ids[:101],
        "limit=500": ids,
        "offset=100": ids[100:],
        "limit=2&offset=1": ids[1:3],
    }.items():
        assert ids_of(sandbox.get(V1, query=query).expect(200)) == expected_ids, query
    for value in ("0", "501", "", "null", "-1", "x"):
        assert "limit" in sandbox.refused(sandbox.get(V1, query=f"limit={value}"))


@pytest.mark.proves("assumed 1.7-v1, 2.6")
def test_the_older_list_has_the_older_filters(sandbox):
    used = sandbox.a_terminal()["terminal_id"]
    tx = sandbox.held(at=used, event_id="mine", reader_identifier="cd" * 32)
    sandbox.acted(tx, "capture", event_id="the-capture")
    other = sandbox.sold(at="second_merchant")
    both = ids_of([other, tx])
    names = ("mid", "tid", "account_id", "gateway_transaction_id", "reader_identifier")

    for query, ids in {
        **{f"{name}={tx[name]}": both[1:] for name in names},
        # This is how a client that got no answer recovers (assumed 2.6).
        "event_id=the-capture": both[1:],
        f"location_id={other['location_id']}": both[:1],
        f"account_id={sandbox.account_id('partner')}": both,
        # What the older list has no filter for is ignored, as everywhere (assumed C8).
        "status=refunded&min_amount=5000": both,
        f"mid={tx['mid']}&event_id=other": [],
    }.items():
        assert ids_of(sandbox.get(V1, query=query).expect(200)) == ids, query


@pytest.mark.proves("spec 4.3-search-retired, 7-405, 9.3", "assumed C3")
def test_the_retired_search_is_a_405_for_every_caller_and_body(sandbox):
    # Before authentication (assumed C3).
    with sandbox.unchanged():
        for by, body in product(("merchant", "revoked", "svc_live_x", None), ({}, None, "x")):
            answer = sandbox.post(f"{V1}/search", body, by=by)

            sandbox.refused(answer, 405, "method_not_allowed", clause="spec 4.3-search-retired")
            assert answer.headers.get("allow") in (None, "GET")
