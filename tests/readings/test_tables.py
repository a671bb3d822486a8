"""The table of readings against the code and against the tests of this folder."""

import importlib
import re
from pathlib import Path

import pytest

from sandbox.domain import readings
from sandbox.domain.payments.transitions import TRANSITIONS
from sandbox.domain.readings import READINGS

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1] / "sandbox"
TABLES = [PACKAGE / "domain" / name for name in ("readings.py", "readings.py")]
NAMES = {
    value.id if hasattr(value, "id") else value: name
    for name, value in (vars(readings)).items()
    if name.isupper() and (value in READINGS if isinstance(value, str) else hasattr(value, "id"))
}
"""The constant of each reading, by its id."""


def _tried():
    """The values with which tests of each clause are parametrised."""
    tried = {}
    for path in HERE.glob("test_*.py"):
        module = importlib.import_module(f"{__package__}.{path.stem}")
        for test in vars(module).values():
            marks = getattr(test, "pytestmark", [])
            clauses = [clause for mark in marks if mark.name == "proves" for clause in mark.args]
            cases = [case for mark in marks if mark.name == "parametrize" for case in mark.args[1]]
            values = {part for case in cases for part in _parts(case) if isinstance(part, str)}
            for clause in ", ".join(clauses).replace("assumed ", "").split(", "):
                tried.setdefault(f"assumed {clause}", set()).update(values)
    return tried


def _parts(case):
    case = getattr(case, "values", case)
    return case if isinstance(case, tuple | list) else (case,)


@pytest.fixture(scope="module")
def tried():
    return _tried()


@pytest.mark.parametrize("id", READINGS)
def test_a_test_tries_every_value_of_the_reading(tried, id):
    reading = READINGS[id]

    assert set(reading.names) <= tried.get(reading.clause, set())


def test_the_code_reads_every_reading():
    used = {
        word
        for path in PACKAGE.rglob("*.py")
        if path not in TABLES
        for word in re.findall(r"\b[A-Z_]+\b", path.read_text(encoding="utf-8"))
    }

    # The rows of payments name readings by id.
    in_rows = {id for row in TRANSITIONS for id in (row.status_reading, row.shown_reading)}

    assert [id for id in READINGS if NAMES.get(id) not in used and id not in in_rows] == []


def test_every_reading_has_a_clause_of_its_own():
    assert len({reading.clause for reading in READINGS.values()}) == len(READINGS)
