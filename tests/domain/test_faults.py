"""The catalogue of refusals, as docs/reference/errors.md lists it. Source: spec 7; assumed 0.5."""

import re
from pathlib import Path

import pytest

from sandbox.domain import faults
from sandbox.domain.faults import FAULTS, Fault

PACKAGE = Path(faults.__file__).parents[1]


@pytest.mark.proves("spec 7-codes", "assumed 0.5-codes, 0.5-http, D18")
def test_every_refusal_has_a_code_a_status_and_a_sentence_of_its_own():
    made = [fault for fault in vars(faults).values() if isinstance(fault, Fault)]

    assert sorted(map(id, FAULTS)) == sorted(map(id, made))
    assert len(FAULTS) == len({fault.message for fault in FAULTS})
    for fault in FAULTS:
        assert 400 <= fault.status <= 599
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", fault.code)
        assert re.fullmatch(r"[A-Z].*\.", fault.message)
        assert re.match(r"(spec|assumed) ", fault.source)
    files = [path for path in PACKAGE.rglob("*.py") if re.search(r"\bFault\(", path.read_text())]
    assert [path.name for path in files] == ["faults.py"]
