"""`sandbox outcomes`, `cards`, `amounts` and `ledger`: looked up without a server."""

import json

import pytest

from sandbox.domain.payments.cards import CARDS
from sandbox.domain.payments.outcomes import OUTCOMES, TRIGGERS, Operation, for_operation
from tests.cli.asking import told


@pytest.mark.parametrize(
    ("command", "known"),
    [
        ("outcomes", list(OUTCOMES)),
        ("cards", list(CARDS)),
        ("amounts", [str(amount) for amount in TRIGGERS]),
    ],
)
def test_a_catalogue_is_shown_whole(command, known):
    lines = told(command).splitlines()

    assert [line.split()[0] for line in lines[1 : len(known) + 1]] == known


@pytest.mark.parametrize("command", ["outcomes", "cards", "triggers"])
def test_json_is_what_a_server_answers(served, command):
    assert json.loads(told(command, "--json")) == served.control("GET", f"/{command}").json()


def test_amounts_keep_their_earlier_name_which_the_help_leaves_out():
    assert told("triggers", "900051") == told("amounts", "900051")
    assert "triggers" not in told("--help")


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        (["outcomes", "FUNDS"], ["insufficient_funds", "incremental_insufficient_funds"]),
        (["outcomes", "lost", "41"], ["lost_card"]),
        (["outcomes", "timeout", "sale"], ["processor_timeout", "timed_out", "timed_out_held"]),
        (["outcomes", "drop_after"], ["drop_after"]),
        (["cards", "amex"], ["tok_amex"]),
        (["cards", "visa debit"], ["tok_visa_debit"]),
        (["amounts", "900051"], ["900051"]),
    ],
    ids=str,
)
def test_a_search_finds_what_has_all_its_words(arguments, first):
    lines = told(*arguments).splitlines()

    assert [line.split()[0] for line in lines[1:]] == first


@pytest.mark.parametrize("operation", Operation)
def test_the_outcomes_of_an_operation_are_those_that_it_can_have(operation):
    found = json.loads(told("outcomes", "--for", operation, "--json"))

    can = [key for key in OUTCOMES if for_operation(key, operation) is not None]
    assert [one["key"] for one in found["outcomes"]] == can
    assert all(operation in one["operations"] for one in found["outcomes"])
    assert found["faults"]


def test_a_declined_increment_is_shown_as_it_is_answered():
    lines = told("outcomes", "--for", "incremental_auth", "insufficient_funds").splitlines()

    assert "incremental_auth_declined" in lines[1]


# --- the ledger --------------------------------------------------------------------------------


def test_a_clause_is_shown_whole_with_its_code_and_its_tests():
    shown = told("ledger", "spec 5.11")

    first, *others = shown.splitlines()
    assert first == "spec 5.11  Life of a key"
    assert "  code   domain/keys.py" in others
    assert any(line.startswith("  tests  tests/platform/test_apikeys_life.py::") for line in others)


def test_the_ledger_lists_every_clause(served):
    lines = told("ledger").splitlines()
    listed = json.loads(told("ledger", "--json"))

    assert listed == served.control("GET", "/ledger").json()
    assert [line.split()[0] for line in lines[1:3]] == ["spec", "spec"]
    assert lines[-1] == f"{listed['total']} clauses; name one to see it whole"


def test_what_no_test_proves_can_be_asked_for():
    listed = json.loads(told("ledger", "--unproved", "--json"))["clauses"]

    assert [clause["id"] for clause in listed if clause["tests"]] == []
