"""Terminals: older names, VAR sheets, duplicates, filters. Source: spec 2.7, assumed 1.4."""

import pytest

PATH = "/v2/terminals"


def path_of(terminal):
    return f"{PATH}/{terminal['terminal_id']}"


def block(sandbox, path, by="partner"):
    sandbox.post(f"{path}/block", by=by).expect(200)


# --- fields -----------------------------------------------------------------------------------


def test_two_fields_have_older_names_and_the_newer_one_wins(sandbox):
    old = {"terminal_name": "patio", "terminal_description": "behind the bar"}
    body = sandbox.terminal_body()
    del body["name"]

    answer = sandbox.post(PATH, body | old)
    terminal = answer.expect(201)
    changed = sandbox.put(path_of(terminal), {"terminal_name": "a", "name": "b"}).expect(200)
    again = sandbox.put(path_of(terminal), old).expect(200)

    assert (terminal["name"], terminal["description"]) == tuple(old.values())
    assert not terminal.keys() & old.keys()
    assert sandbox.journal(answer)["notes"] == []
    assert changed["name"] == "b"
    assert (again["name"], again["description"]) == tuple(old.values())


@pytest.mark.proves("assumed 1.4-config")
def test_a_terminal_has_a_processor_that_its_account_lists_if_it_lists_any(sandbox):
    terminal = sandbox.a_terminal()

    with sandbox.unchanged():
        # assumed 1.4-config: the merchant of the cast lists one.
        for config in ("cfg-pass-001", "cfg-tsys-002", "CFG-TSYS-001"):
            change = {"processor_config_id": config, "name": "x", "status": "blocked"}
            body = sandbox.terminal_body(processor_config_id=config)
            for answer in (sandbox.post(PATH, body), sandbox.put(path_of(terminal), change)):
                assert "processor_config_id" in answer.detail()
    shop = sandbox.an_account()["id"]
    sandbox.a_terminal(shop, processor_config_id="cfg-anything-9")


# --- VAR sheets -------------------------------------------------------------------------------

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
FROM_TSYS = {
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
PAYROC_SHEET = {"processing_merchant_id": "5289003", "processing_terminal_id": "1021"}


def board(sandbox, sheet, **more):
    """The answer to a creation with a VAR sheet in place of mid and tid."""
    body = sandbox.terminal_body("partner")
    del body["mid"], body["tid"]
    return sandbox.post(PATH, body | {"var_sheet": sheet} | more)


@pytest.mark.proves("assumed 1.4-var-sheet")
def test_a_var_sheet_fills_the_terminal_and_is_not_shown(sandbox):
    answer = board(sandbox, TSYS_SHEET)
    terminal = answer.expect(201)
    payroc = board(sandbox, PAYROC_SHEET, processor_config_id="cfg-payroc-001").expect(201)
    other = sandbox.a_terminal("partner")
    sandbox.delete(path_of(terminal))
    changed = sandbox.put(path_of(other), {"var_sheet": TSYS_SHEET}).expect(200)

    assert terminal == terminal | FROM_TSYS
    assert sandbox.journal(answer)["notes"] == []
    assert (payroc["mid"], payroc["tid"]) == ("5289003", "1021")
    assert changed == changed | FROM_TSYS | {"name": "bar"}


@pytest.mark.proves("assumed 1.4-var-sheet, 1.4-create")
def test_a_var_sheet_gives_what_is_not_given_beside_it(sandbox):
    for number, tid in (("1", "00000001"), ("12345678", "12345678"), ("7001", "00007001")):
        assert board(sandbox, TSYS_SHEET | {"terminal_number": number}).expect(201)["tid"] == tid
    named = {"tid": "00000099", "merchant_name": "Pecan Street Outfitters"}
    beside = board(sandbox, TSYS_SHEET, **named).expect(201)
    assert beside == beside | FROM_TSYS | named
    # assumed C10: in a creation null is the same as leaving the field out.
    unset = board(sandbox, TSYS_SHEET | {"store_number": None}, mid=None, tid=None).expect(201)
    assert unset == unset | FROM_TSYS | {"store_number": None}


@pytest.mark.proves("assumed 1.4-var-sheet, 1.4-create")
def test_a_bad_or_missing_value_in_a_var_sheet_is_refused_by_field(sandbox):
    fields = {
        "merchant_number": "mid",
        "terminal_number": "tid",
        "acquirer_bin": "bin",
        "merchant_category_code": "merchant_category_code",
        "processing_merchant_id": "mid",
        "processing_terminal_id": "tid",
    }

    for name, field in fields.items():
        sheet = PAYROC_SHEET if name in PAYROC_SHEET else TSYS_SHEET
        for value in (7, [], {}, True):
            assert field in board(sandbox, sheet | {name: value}).detail(), (name, value)
    for name in ("merchant_number", "terminal_number"):
        for value in ("", None):
            assert fields[name] in board(sandbox, TSYS_SHEET | {name: value}).detail(), name


# --- duplicates -------------------------------------------------------------------------------

OTHERWISE = [{"mid": "886000002001"}, {"tid": "00000043"}, {"processor_config_id": "cfg-pass-001"}]


@pytest.mark.proves("assumed 1.4-duplicate")
def test_live_terminals_share_two_of_processor_mid_and_tid_and_never_all_three(sandbox):
    first = sandbox.a_terminal("partner")
    others = [sandbox.a_terminal("partner", **other) for other in OTHERWISE]
    block(sandbox, path_of(first))

    with sandbox.unchanged():
        for account in ("partner", "merchant", "second_merchant"):
            sandbox.post(PATH, sandbox.terminal_body(account)).detail(409, "conflict")
        for other in others:
            change = sandbox.terminal_body("partner") | {"status": "blocked"}
            sandbox.put(path_of(other), change).detail(409, "conflict")


# --- filters and search -----------------------------------------------------------------------

BOARDED = {
    "alpha": ("merchant", "Front Counter", "886000002001", "00000101", "cfg-tsys-001"),
    "beta": ("merchant", "Back Counter", "886000002001", "00000102", "cfg-tsys-001"),
    "gamma": ("second_merchant", "Counter", "886000002002", "00000101", "cfg-tsys-001"),
    "delta": ("passthrough_merchant", "Kiosk Café Ä", "PASSxyz", "KSK1", "cfg-pass-001"),
    "omega": ("other_merchant", "Front Counter", "886000002009", "00000101", "cfg-tsys-001"),
}
"""Account, name, mid, tid and processor of terminals beside the cast's. beta is blocked."""

# Filters, and what they find for the partner, newest first; with an account, within that.
FOUND = """
-                                                       delta gamma beta alpha
status=blocked                                          beta
status=active                                           delta gamma alpha
processor_config_id=cfg-pass-001                        delta
processor_config_id=cfg-payroc-001
processor_mid=886000002001                              beta alpha
processor_mid=88600000200
processor_tid=00000101                                  gamma alpha
processor_tid=101
processor_tid=ksk1
search=counter                                          gamma beta alpha
search=FRONT%20C                                        alpha
search=8860000020                                       gamma beta alpha
search=passXYZ                                          delta
search=ksk                                              delta
search=000010                                           gamma beta alpha
search=k                                                delta beta
search=CAF%C3%89+%C3%A4                                 delta
search=counter+8860
search=                                                 delta gamma beta alpha
search=counter&status=blocked                           beta
processor_mid=886000002001&status=blocked&search=back   beta
processor_config_id=cfg-tsys-001&status=blocked&processor_tid=00000101
account_id=merchant                                     beta alpha
account_id=merchant&search=counter&processor_tid=00000101 alpha
account_id=passthrough_merchant&processor_config_id=cfg-tsys-001
"""


@pytest.mark.proves("assumed 1.4-list")
def test_each_filter_of_the_listing_alone_and_with_others(sandbox):
    for name, (account, title, mid, tid, config) in BOARDED.items():
        more = {"name": title, "mid": mid, "tid": tid, "processor_config_id": config}
        terminal = sandbox.a_terminal(account, by="psp", description=name, **more)
        if name == "beta":
            block(sandbox, path_of(terminal), by="psp")

    def found(query, by="partner"):
        account, _, rest = query.partition("&")
        if account.startswith("account_id="):
            id = sandbox.account_id(account.removeprefix("account_id="))
            query = f"account_id={id}&{rest}"
        listed = sandbox.get(PATH, by=by, query=query).expect(200)
        names = [one["description"] for one in listed["terminals"]]
        assert len(names) == listed["total"]
        return [name for name in names if name in BOARDED]

    for query, *names in map(str.split, FOUND.strip().splitlines()):
        assert found(query.removeprefix("-")) == names, query
    # A search never leaves the hierarchy.
    seen = {by: found("search=front", by=by) for by in ("psp", "partner", "admin")}
    assert seen == {"psp": ["omega", "alpha"], "partner": ["alpha"], "admin": []}
