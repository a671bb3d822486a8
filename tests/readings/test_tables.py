"""The table of readings against the code and against the tests of this folder."""

import importlib
import re
from pathlib import Path

from sandbox.domain.payments.transitions import TRANSITIONS
from sandbox.domain.readings import READINGS

HERE = Path(__file__).parent


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


def test_a_test_tries_every_value_of_every_reading():
    tried = _tried()

    for reading in READINGS.values():
        assert set(reading.names) <= tried.get(reading.clause, set()), reading.id


def test_every_reading_has_a_clause_of_its_own():
    assert len({reading.clause for reading in READINGS.values()}) == len(READINGS)


def test_the_code_asks_every_reading_and_no_other():
    asked = {
        id
        for path in (HERE.parents[1] / "sandbox").rglob("*.py")
        for id in re.findall(r'(?:readings|chosen)\["(\w+)"\]', path.read_text(encoding="utf-8"))
    }
    # The rows of payments name readings by id.
    in_rows = {id for row in TRANSITIONS for id in (row.status_reading, row.shown_reading)}

    assert asked | in_rows - {None} == set(READINGS)
