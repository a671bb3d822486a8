"""Terminals at their processor: VAR sheets, duplicates, filters and search. Assumed 1.4."""

import pytest

from tests.directory.making import (
    a_terminal,
    account_id,
    delete,
    detail,
    get,
    made,
    post,
    put,
    shown,
    terminal_body,
    terminal_id,
)

TSYS_SHEET = {
    "acquirer_bin": "424550",
    "merchant_number": "888000000001",
    "store_number": "0007",
    "terminal_number": "1515",
    "merchant_category_code": "5999",
    "merchant_name": "PECAN STREET",
    "country_code": "840",
    "currency_code": "840",
}
PAYROC_SHEET = {"processing_merchant_id": "5289003", "processing_terminal_id": "1021"}


def sheet_body(sandbox, sheet, **more):
    body = terminal_body(sandbox, "partner")
    del body["mid"], body["tid"]
    return body | {"var_sheet": sheet} | more


# --- VAR sheets -------------------------------------------------------------------------------


@pytest.mark.proves("assumed 1.4-var-sheet")
def test_a_tsys_var_sheet_fills_the_terminal_and_is_not_shown(sandbox):
    terminal = made(post(sandbox, "/v2/terminals", sheet_body(sandbox, TSYS_SHEET)))

    assert terminal == terminal | {
        "bin": "424550",
        "mid": "888000000001",
        "store_number": "0007",
        "tid": "00001515",
        "merchant_category_code": "5999",
        "merchant_name": "PECAN STREET",
        "country_code": "840",
        "currency_code": "840",
        "var_sheet": None,
    }


@pytest.mark.proves("assumed 1.4-var-sheet")
def test_a_payroc_var_sheet_fills_mid_and_tid_as_they_are(sandbox):
    body = sheet_body(sandbox, PAYROC_SHEET, processor_config_id="cfg-payroc-001")

    terminal = made(post(sandbox, "/v2/terminals", body))

    assert (terminal["mid"], terminal["tid"]) == ("5289003", "1021")


@pytest.mark.proves("assumed 1.4-var-sheet")
@pytest.mark.parametrize(
    ("number", "tid"),
    [("1", "00000001"), ("00000001", "00000001"), ("12345678", "12345678"), ("7001", "00007001")],
)
def test_the_terminal_number_of_a_var_sheet_is_padded_to_eight_digits(sandbox, number, tid):
    body = sheet_body(sandbox, TSYS_SHEET | {"terminal_number": number})

    terminal = made(post(sandbox, "/v2/terminals", body))

    assert terminal["tid"] == tid


def test_what_stands_beside_a_var_sheet_wins_over_it(sandbox):
    beside = {"tid": "00000099", "merchant_name": "Pecan Street Outfitters"}

    terminal = made(post(sandbox, "/v2/terminals", sheet_body(sandbox, TSYS_SHEET, **beside)))

    assert (terminal["tid"], terminal["merchant_name"], terminal["mid"]) == (
        "00000099",
        "Pecan Street Outfitters",
        "888000000001",
    )


@pytest.mark.proves("assumed 1.4-create")
@pytest.mark.parametrize("missing", ["merchant_number", "terminal_number"])
def test_a_var_sheet_without_an_identifier_leaves_it_required(sandbox, missing):
    sheet = {name: value for name, value in TSYS_SHEET.items() if name != missing}

    answer = post(sandbox, "/v2/terminals", sheet_body(sandbox, sheet))

    assert {"merchant_number": "mid", "terminal_number": "tid"}[missing] in detail(answer)


@pytest.mark.proves("assumed 1.4-var-sheet")
@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("merchant_number", "mid"),
        ("terminal_number", "tid"),
        ("acquirer_bin", "bin"),
        ("merchant_category_code", "merchant_category_code"),
        ("processing_merchant_id", "mid"),
        ("processing_terminal_id", "tid"),
    ],
)
def test_a_bad_value_in_a_var_sheet_is_refused_and_the_field_named(sandbox, name, field):
    sheet = PAYROC_SHEET if name in PAYROC_SHEET else TSYS_SHEET

    for value in (7, [], {}, True):
        answer = post(sandbox, "/v2/terminals", sheet_body(sandbox, sheet | {name: value}))
        assert field in detail(answer), value


def test_an_empty_terminal_number_is_not_a_terminal_number(sandbox):
    body = sheet_body(sandbox, TSYS_SHEET | {"terminal_number": ""})

    answer = post(sandbox, "/v2/terminals", body)

    assert "tid" in detail(answer)


def test_null_beside_a_var_sheet_leaves_the_field_to_the_sheet(sandbox):
    # assumed C10: in a creation null is the same as leaving the field out.
    body = sheet_body(sandbox, TSYS_SHEET, mid=None, tid=None)

    terminal = made(post(sandbox, "/v2/terminals", body))

    assert (terminal["mid"], terminal["tid"]) == ("888000000001", "00001515")


def test_null_inside_a_var_sheet_of_a_creation_leaves_the_field_unset(sandbox):
    body = sheet_body(sandbox, TSYS_SHEET | {"store_number": None})

    terminal = made(post(sandbox, "/v2/terminals", body))

    assert terminal["store_number"] is None


def test_a_var_sheet_is_a_known_field_to_the_journal(sandbox):
    answer = post(sandbox, "/v2/terminals", sheet_body(sandbox, TSYS_SHEET))

    made(answer)

    assert sandbox.journal(answer)["notes"] == []


def test_an_update_takes_a_var_sheet_too(sandbox):
    terminal = a_terminal(sandbox, "partner")

    changed = shown(
        put(sandbox, f"/v2/terminals/{terminal['terminal_id']}", {"var_sheet": TSYS_SHEET})
    )

    assert (changed["mid"], changed["tid"], changed["bin"]) == (
        "888000000001",
        "00001515",
        "424550",
    )
    assert (changed["name"], changed["var_sheet"]) == ("bar", None)


# --- duplicates -------------------------------------------------------------------------------


@pytest.mark.proves("assumed 1.4-duplicate")
@pytest.mark.parametrize("account", ["merchant", "second_merchant"])
def test_two_live_terminals_never_share_processor_mid_and_tid(sandbox, account):
    a_terminal(sandbox)
    before = sandbox.state()

    answer = post(sandbox, "/v2/terminals", terminal_body(sandbox, account))

    detail(answer, 409, "conflict")
    assert sandbox.state() == before


@pytest.mark.proves("assumed 1.4-duplicate")
@pytest.mark.parametrize(
    "other",
    [{"mid": "886000002001"}, {"tid": "00000043"}, {"processor_config_id": "cfg-pass-001"}],
)
def test_terminals_may_share_two_of_processor_mid_and_tid(sandbox, other):
    a_terminal(sandbox, "partner")

    second = a_terminal(sandbox, "partner", **other)

    assert second["status"] == "active"


@pytest.mark.proves("assumed 1.4-duplicate")
@pytest.mark.parametrize(
    "own",
    [{"mid": "886000002001"}, {"tid": "00000043"}, {"processor_config_id": "cfg-pass-001"}],
)
def test_an_update_cannot_make_two_terminals_share_all_three(sandbox, own):
    a_terminal(sandbox, "partner")
    second = a_terminal(sandbox, "partner", **own)
    path = f"/v2/terminals/{second['terminal_id']}"
    before = sandbox.state()

    answer = put(sandbox, path, terminal_body(sandbox, "partner") | {"status": "blocked"})

    detail(answer, 409, "conflict")
    assert sandbox.state() == before
    assert shown(get(sandbox, path)) == second


def test_numbers_are_free_again_after_their_terminal_was_deleted(sandbox):
    first = a_terminal(sandbox)
    delete(sandbox, f"/v2/terminals/{first['terminal_id']}")

    second = a_terminal(sandbox)

    assert second["terminal_id"] != first["terminal_id"]


def test_numbers_are_free_again_after_their_terminal_took_others(sandbox):
    first = a_terminal(sandbox)
    shown(put(sandbox, f"/v2/terminals/{first['terminal_id']}", {"tid": "00000043"}))

    second = a_terminal(sandbox)

    assert second["tid"] == "00000042"


def test_a_blocked_terminal_keeps_its_numbers(sandbox):
    first = a_terminal(sandbox)
    shown(sandbox.ask("POST", f"/v2/terminals/{first['terminal_id']}/block", key="partner"))

    answer = post(sandbox, "/v2/terminals", terminal_body(sandbox))

    detail(answer, 409, "conflict")


# --- deletion ---------------------------------------------------------------------------------


def test_a_blocked_terminal_can_be_deleted(sandbox):
    path = f"/v2/terminals/{terminal_id(sandbox, 'merchant')}"
    shown(sandbox.ask("POST", f"{path}/block", key="partner"))

    answer = delete(sandbox, path)

    assert answer.status == 204


# --- filters and search -----------------------------------------------------------------------

BOARDED = {
    "alpha": ("merchant", "Front Counter", "886000002001", "00000101", "cfg-tsys-001"),
    "beta": ("merchant", "Back Counter", "886000002001", "00000102", "cfg-tsys-001"),
    "gamma": ("second_merchant", "Counter", "886000002002", "00000101", "cfg-tsys-001"),
    "delta": ("passthrough_merchant", "Kiosk", "PASSxyz", "KSK1", "cfg-pass-001"),
    "omega": ("other_merchant", "Front Counter", "886000002009", "00000101", "cfg-tsys-001"),
}
"""Account, name, mid, tid and processor of terminals beside the cast's. beta is blocked."""

CAST = ["00000008", "00000007", "00000006", "00000005", "00000004", "00000002", "00000001"]
"""The tids of the cast's terminals in the partner's tree, newest first."""


@pytest.fixture
def boarded(sandbox):
    for name, (account, title, mid, tid, config) in BOARDED.items():
        more = {"name": title, "mid": mid, "tid": tid, "processor_config_id": config}
        terminal = a_terminal(sandbox, account, by="psp", description=name, **more)
        if name == "beta":
            path = f"/v2/terminals/{terminal['terminal_id']}/block"
            shown(sandbox.ask("POST", path, key="psp"))
    return sandbox


def found(sandbox, query, by="partner"):
    """What a listing finds of BOARDED, newest first, and how many it counts."""
    listed = shown(get(sandbox, "/v2/terminals", by=by, query=query))
    names = [one["description"] for one in listed["terminals"]]
    assert len(names) == listed["total"]
    return [name for name in names if name in BOARDED]


@pytest.mark.proves("assumed 1.4-list")
@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["delta", "gamma", "beta", "alpha"]),
        ("status=blocked", ["beta"]),
        ("status=active", ["delta", "gamma", "alpha"]),
        ("processor_config_id=cfg-pass-001", ["delta"]),
        ("processor_config_id=cfg-payroc-001", []),
        ("processor_mid=886000002001", ["beta", "alpha"]),
        ("processor_mid=88600000200", []),
        ("processor_tid=00000101", ["gamma", "alpha"]),
        ("processor_tid=101", []),
        ("processor_tid=ksk1", []),
        ("search=counter", ["gamma", "beta", "alpha"]),
        ("search=FRONT%20C", ["alpha"]),
        ("search=front+counter", ["alpha"]),
        ("search=8860000020", ["gamma", "beta", "alpha"]),
        ("search=2001", ["beta", "alpha"]),
        ("search=passXYZ", ["delta"]),
        ("search=PASSXYZ", ["delta"]),
        ("search=ksk", ["delta"]),
        ("search=000010", ["gamma", "beta", "alpha"]),
        ("search=k", ["delta", "beta"]),
        ("search=nowhere", []),
        ("search=", ["delta", "gamma", "beta", "alpha"]),
        ("search=front&status=active", ["alpha"]),
        ("search=counter&status=blocked", ["beta"]),
        ("search=counter&processor_tid=00000101", ["gamma", "alpha"]),
        ("processor_mid=886000002001&processor_tid=00000101", ["alpha"]),
        ("processor_mid=886000002001&status=blocked&search=back", ["beta"]),
        ("processor_config_id=cfg-tsys-001&search=k", ["beta"]),
        ("processor_config_id=cfg-tsys-001&status=blocked&processor_tid=00000101", []),
    ],
)
def test_each_filter_of_the_listing_alone_and_with_others(boarded, query, names):
    assert found(boarded, query) == names


@pytest.mark.proves("assumed 1.4-list")
@pytest.mark.parametrize(
    ("account", "query", "names"),
    [
        ("merchant", "", ["beta", "alpha"]),
        ("merchant", "&status=blocked", ["beta"]),
        ("merchant", "&search=counter&processor_tid=00000101", ["alpha"]),
        ("second_merchant", "&search=counter", ["gamma"]),
        ("partner", "&search=counter", ["gamma", "beta", "alpha"]),
        ("passthrough_merchant", "&processor_config_id=cfg-tsys-001", []),
    ],
)
def test_filters_hold_within_the_account_that_is_named(boarded, account, query, names):
    asked = f"account_id={account_id(boarded, account)}{query}"

    assert found(boarded, asked) == names


def test_a_search_never_leaves_the_hierarchy(boarded):
    seen = {by: found(boarded, "search=front", by=by) for by in ("psp", "partner", "admin")}

    assert seen == {"psp": ["omega", "alpha"], "partner": ["alpha"], "admin": []}


@pytest.mark.proves("assumed C12")
@pytest.mark.parametrize("status", ["", "null", "deleted", "Active", "active,blocked"])
def test_a_status_that_is_none_is_refused_and_named(sandbox, status):
    answer = get(sandbox, "/v2/terminals", query=f"status={status}")

    assert "status" in detail(answer)


def test_the_listing_shows_terminals_as_reading_each_does_newest_first(sandbox):
    listed = shown(get(sandbox, "/v2/terminals"))["terminals"]

    read = [shown(get(sandbox, f"/v2/terminals/{one['terminal_id']}")) for one in listed]

    assert listed == read
    assert [one["tid"] for one in listed] == CAST
