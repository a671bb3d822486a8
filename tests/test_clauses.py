"""Every clause that the code cites has an entry in docs/clauses.toml."""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sandbox.domain.events import EVENTS

PROJECT = Path(__file__).parents[1]
CLAUSES = PROJECT / "docs" / "clauses.toml"
FILES = sorted((PROJECT / "sandbox").rglob("*.py"))

_ID = r"[A-Z]?\d+(?:\.\d+)*(?:-[a-z0-9]+(?:[._-][a-z0-9]+)*)?"
_CITATION = re.compile(rf"\b(spec|assumed)\s+({_ID}(?:(?:,| and| to)\s+{_ID}\b)*)")
_ENTRY = re.compile(r'^\[(spec|assumed)\."?([^"\]]+)"?\]$', re.MULTILINE)


@cache
def clauses() -> dict[str, dict[str, Any]]:
    return tomllib.loads(CLAUSES.read_text(encoding="utf-8"))


def citations(text: str) -> Iterator[tuple[str, str]]:
    """Kind and id of everything cited: also "spec 4.1, 4.2" and citations over a line break."""
    # A formatted id is completed with the events; they have a test of their own.
    plain = re.sub(r"\s+#?\s*", " ", text.replace("6.3-{", "{"))
    for kind, ids in _CITATION.findall(plain):
        yield from ((kind, id) for id in re.findall(_ID, ids))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Source: spec 4.1.", [("spec", "4.1")]),
        ("spec 4.1, 4.2", [("spec", "4.1"), ("spec", "4.2")]),
        ("(spec 4.1.4, 4.1.5, 5.8)", [("spec", "4.1.4"), ("spec", "4.1.5"), ("spec", "5.8")]),
        (
            "assumed C1 to C3, C9; spec 7",
            [*[("assumed", id) for id in ("C1", "C3", "C9")], ("spec", "7")],
        ),
        (
            "spec 1, 4.2-admin; assumed 4.1",
            [("spec", "1"), ("spec", "4.2-admin"), ("assumed", "4.1")],
        ),
        ("spec 6.3-batch.opened, then", [("spec", "6.3-batch.opened")]),
        ("as (spec\n    # 3.1-delete) says", [("spec", "3.1-delete")]),
        ("the spec says 5 things, 3 of them assumed", []),
    ],
)
def test_citations_are_found_in_all_their_forms(text, expected):
    assert list(citations(text)) == expected


def test_there_are_clauses_of_both_kinds():
    assert sorted(clauses()) == ["assumed", "spec"]
    assert len(clauses()["spec"]) > 100
    assert len(clauses()["assumed"]) > 100


def test_every_citation_of_a_file_has_an_entry():
    missing = sorted(
        f"{path.relative_to(PROJECT).as_posix()}: {kind} {id}"
        for path in FILES
        for kind, id in set(citations(path.read_text(encoding="utf-8")))
        if id not in clauses()[kind]
    )

    assert missing == []


def test_the_code_cites_what_it_does():
    cited = {one for path in FILES for one in citations(path.read_text(encoding="utf-8"))}

    assert {("spec", "4.1"), ("spec", "5.9"), ("assumed", "D5"), ("assumed", "C5")} <= cited
    assert len(cited) > 60


def test_every_event_has_an_entry():
    assert [name for name in EVENTS if EVENTS[name].source != f"spec 6.3-{name}"] == []
    assert [name for name in EVENTS if f"6.3-{name}" not in clauses()["spec"]] == []


def test_there_are_no_entries_for_events_that_do_not_exist():
    entries = {id for id in clauses()["spec"] if re.match(r"6\.3-[a-z_]+\.[a-z_]+$", id)}

    assert entries == {f"6.3-{name}" for name in EVENTS}


def test_ids_are_unique():
    ids = _ENTRY.findall(CLAUSES.read_text(encoding="utf-8"))

    assert len(ids) == len(set(ids))
    assert len(ids) == len(clauses()["spec"]) + len(clauses()["assumed"])


def test_every_entry_has_a_title_and_a_summary_of_one_line():
    wrong = [
        f"{kind} {id}"
        for kind, entries in clauses().items()
        for id, entry in entries.items()
        if not (
            {"title", "summary"} <= set(entry) <= {"title", "summary", "fills"}
            and entry["title"].strip()
            and entry["summary"].strip()
            and "\n" not in entry["title"] + entry["summary"]
        )
    ]

    assert wrong == []


def test_what_an_assumption_fills_exists():
    wrong = [
        f"assumed {id} fills {filled}"
        for id, entry in clauses()["assumed"].items()
        for filled in entry.get("fills", [])
        if filled not in clauses()["spec"]
    ]

    assert wrong == []
