"""What the code cites has an entry in spec/clauses.toml, and every entry there is proved."""

import re
from pathlib import Path

from sandbox.control.ledger import _ID, citations, marks
from sandbox.domain.events import EVENTS
from tools.pages.ledger import by_parts, clauses, entries, headings

PROJECT = Path(__file__).parents[1]
ALLOWED = {"title", "summary", "fills", "needs_no_proof"}
FILES = sorted((PROJECT / "sandbox").rglob("*.py"))

LISTED = re.compile(rf"(spec|assumed) {_ID}(?:, {_ID})*")
"""Clauses of one kind and nothing else: "spec 4.1, 4.2"."""


def test_citations_are_found_in_all_their_forms():
    for text, expected in (
        ("Source: spec 4.1.", ["spec 4.1"]),
        ("spec 4.1, 4.2", ["spec 4.1", "spec 4.2"]),
        ("(spec 4.1.4, 4.1.5, 5.8)", ["spec 4.1.4", "spec 4.1.5", "spec 5.8"]),
        ("assumed C1 to C3; spec 7", ["assumed C1", "assumed C3", "spec 7"]),
        ("spec 1, 4.2-admin; assumed 4.1", ["spec 1", "spec 4.2-admin", "assumed 4.1"]),
        ("spec 6.3-batch.opened, then", ["spec 6.3-batch.opened"]),
        ("as (spec\n    # 3.1-delete) says", ["spec 3.1-delete"]),
        ("the spec says 5 things, 3 of them assumed", []),
    ):
        assert [f"{kind} {id}" for kind, id in citations(text)] == expected, text


def test_every_citation_of_a_file_has_an_entry():
    missing = sorted(
        f"{path.relative_to(PROJECT).as_posix()}: {kind} {id}"
        for path in FILES
        for kind, id in set(citations(path.read_text(encoding="utf-8")))
        if id not in clauses()[kind]
    )

    assert missing == []


def test_each_event_and_no_other_has_an_entry_and_names_it():
    entries = {id for id in clauses()["spec"] if re.match(r"6\.3-[a-z_]+\.[a-z_]+$", id)}

    assert entries == {f"6.3-{name}" for name in EVENTS}
    assert [name for name in EVENTS if EVENTS[name].source != f"spec 6.3-{name}"] == []


def test_every_entry_has_a_title_and_a_summary_of_one_line():
    wrong = [
        f"{kind} {id}"
        for kind, entries in clauses().items()
        for id, entry in entries.items()
        if not (
            {"title", "summary"} <= set(entry) <= ALLOWED
            and entry["title"].strip()
            and entry["summary"].strip()
            and "\n" not in entry["title"] + entry["summary"]
        )
    ]

    assert wrong == []


def test_the_clauses_that_an_assumption_fills_exist():
    wrong = [
        f"assumed {id} fills {filled}"
        for id, entry in clauses()["assumed"].items()
        for filled in entry.get("fills", [])
        if filled not in clauses()["spec"]
    ]

    assert wrong == []


# --- proofs


def test_every_clause_is_proved_or_says_why_there_is_nothing_to_prove():
    unproved = [entry.id for entry in entries() if not (entry.proved or entry.needs_no_proof)]

    assert unproved == [], 'mark what proves them with @pytest.mark.proves("...")'


def test_the_proofs_of_tests_are_clauses():
    wrong = [
        f"{test}: {text}"
        for test, text in marks()
        if not LISTED.fullmatch(text)
        or any(id not in clauses()[kind] for kind, id in citations(text))
    ]

    assert wrong == []


def test_a_clause_that_needs_no_proof_has_none_and_says_why():
    said = [entry for entry in entries() if entry.needs_no_proof is not None]

    assert [entry.id for entry in said if entry.tests or not entry.needs_no_proof.strip()] == []
    assert len(said) < 30


def test_a_clause_is_proved_by_its_parts_when_each_is_and_not_one_of_them_is_left():
    ids = ["5", "5.1", "5.1-a", "5.1-b", "5-accept", "50", "50.1"]
    for proved, needless, has_parts in (
        ({"5.1", "5-accept"}, set(), True),
        ({"5.1-a", "5.1-b", "5-accept"}, set(), True),
        ({"5.1"}, {"5-accept"}, True),
        ({"5.1-a", "5-accept"}, {"5.1-b"}, True),
        ({"5.1-a", "5-accept"}, set(), False),
        ({"5.1"}, set(), False),
        (set(), {"5.1", "5-accept"}, False),
        ({"5"}, {"5.1"}, False),
        ({"50", "50.1"}, set(), False),
    ):
        expected = ["5.1", "5-accept"] if has_parts else []
        assert by_parts("5", ids, proved, needless) == expected, (proved, needless)


def test_every_entry_is_below_a_heading():
    assert list(headings()) == [(kind, id) for kind, ids in clauses().items() for id in ids]
    assert "" not in headings().values()
