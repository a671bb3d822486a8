"""The ledger is served: for every clause the code, the rows and the tests behind it."""

from sandbox.control.ledger import _clauses, read_ledger
from tools.pages.ledger import clauses


def test_every_clause_that_anything_can_cite_is_in_the_ledger(sandbox):
    shown = sandbox.look("/ledger")

    ids = [clause["id"] for clause in shown["clauses"]]
    assert ids == [f"{kind} {id}" for kind, entries in clauses().items() for id in entries]
    assert shown["total"] == len(ids)


def test_a_clause_is_shown_with_what_implements_and_what_proves_it(sandbox):
    shown = {clause["id"]: clause for clause in sandbox.look("/ledger")["clauses"]}

    entry = shown["assumed F38"]
    assert entry["title"] == "event_id used before"
    assert entry["fills"] == ["spec 2.4-event-id", "spec 2.4-duplicate_event"]
    assert "domain/faults.py" in entry["code"]
    assert entry["rows"] == ["duplicate_event"]
    file = "tests/payments/test_event_ids.py"
    proof = "test_a_second_attempt_with_an_event_id_is_refused_and_names_the_first"
    assert f"{file}::{proof}" in entry["tests"]
    assert (entry["parts"], entry["needs_no_proof"]) == ([], None)
    whole, rate = shown["spec 3"], shown["spec 8-rate"]
    parts = ["spec 3.1", "spec 3.2", "spec 3.3", "spec 3.4"]
    assert (whole["tests"], whole["parts"]) == ([], parts)
    assert rate["needs_no_proof"] == "No limit is stated, and none is assumed."


def test_clauses_are_searched_by_id_title_and_summary(sandbox):
    for search, ids in (
        ("spec 5.9", ["spec 5.9"]),
        ("ESCALATION", ["spec 5.8"]),
        ("five minutes", ["assumed 8.2-surcharge"]),
        ("no such words", []),
    ):
        shown = sandbox.look("/ledger", search=search)

        assert [clause["id"] for clause in shown["clauses"]] == ids
        assert shown["total"] == len(ids)
    assert sandbox.look("/ledger", search="") == sandbox.look("/ledger")


def test_a_package_without_tests_says_which_clauses_are_proved_but_not_by_which_test(monkeypatch):
    monkeypatch.setattr("sandbox.control.ledger.tests_by_clause", lambda: None)
    _clauses.cache_clear()
    try:
        entries = {clause.id: clause for clause in read_ledger().clauses}
    finally:
        _clauses.cache_clear()

    assert {clause.tests for clause in entries.values()} == {None}
    assert entries["assumed F38"].proved
    assert not entries["spec 8-rate"].proved
