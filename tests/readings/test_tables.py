"""The table of readings against the code and against the tests of this folder."""

import importlib
from pathlib import Path

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
