"""Terminals: their fields, creation, VAR sheets and changes. Source: spec 2.7, assumed 1.4."""

import pytest

from tests.directory.making import (
    a_terminal,
    an_account,
    detail,
    made,
    post,
    put,
    shown,
    terminal_body,
)

# --- create -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alias", "field"), [("terminal_name", "name"), ("terminal_description", "description")]
)
def test_a_field_has_an_older_name_that_is_known_too(sandbox, alias, field):
    body = terminal_body(sandbox)
    del body["name"]
    answer = post(sandbox, "/v2/terminals", {"name": "bar"} | body | {alias: "patio"})
    if alias == "terminal_name":
        answer = post(sandbox, "/v2/terminals", body | {alias: "patio", "tid": "00000043"})

    terminal = made(answer)

    assert terminal[field] == "patio"
    assert alias not in terminal
    assert sandbox.journal(answer)["notes"] == []


def test_the_newer_name_of_a_field_wins_over_its_older_one(sandbox):
    terminal = a_terminal(sandbox, name="new", terminal_name="old")

    assert terminal["name"] == "new"


@pytest.mark.proves("spec 2.7-null-fields", "assumed 1.4-constant")
def test_transactions_var_sheet_and_batching_never_vary(sandbox):
    terminal = a_terminal(sandbox, transactions=["x"], batching={"auto": True})

    assert (terminal["transactions"], terminal["var_sheet"], terminal["batching"]) == (
        [],
        None,
        None,
    )


# --- the account's processors -----------------------------------------------------------------


@pytest.mark.proves("assumed 1.4-config")
@pytest.mark.parametrize("config", ["cfg-pass-001", "cfg-tsys-002", "CFG-TSYS-001"])
def test_a_processor_that_the_account_does_not_list_is_refused(sandbox, config):
    # assumed 1.4-config: the merchant of the cast lists one.
    before = sandbox.state()

    answer = post(sandbox, "/v2/terminals", terminal_body(sandbox, processor_config_id=config))

    assert "processor_config_id" in detail(answer)
    assert sandbox.state() == before


@pytest.mark.proves("assumed 1.4-config")
def test_an_account_that_lists_no_processor_takes_any(sandbox):
    shop = an_account(sandbox)

    terminal = a_terminal(sandbox, shop["id"], processor_config_id="cfg-anything-9")

    assert terminal["processor_config_id"] == "cfg-anything-9"


@pytest.mark.proves("assumed 1.4-config")
def test_a_terminal_cannot_be_moved_to_a_processor_that_its_account_does_not_list(sandbox):
    terminal = a_terminal(sandbox)
    before = sandbox.state()

    answer = put(
        sandbox,
        f"/v2/terminals/{terminal['terminal_id']}",
        {"processor_config_id": "cfg-pass-001", "name": "x", "status": "blocked"},
    )

    assert "processor_config_id" in detail(answer)
    assert sandbox.state() == before


# --- change -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alias", "field"), [("terminal_name", "name"), ("terminal_description", "description")]
)
def test_an_update_takes_the_older_names_too(sandbox, alias, field):
    path = f"/v2/terminals/{a_terminal(sandbox)['terminal_id']}"

    changed = shown(put(sandbox, path, {alias: "patio"}))

    assert changed[field] == "patio"
