"""What failures cost, and which grade is left."""

import pytest

from sandbox.control.ledger import citations
from sandbox.doctor.probe import Severity, grade_of, score_of
from sandbox.doctor.probes import PROBES
from tools.pages.citations import clauses


def graded(**failures: str) -> tuple[int, str]:
    """Score and grade after failures of probes: by name, with their severity."""
    percent = {"critical": 100, "must": 100, "should": 30, "advice": 0}
    costs = [(PROBES[name.replace("_", "-")].weight, percent[s]) for name, s in failures.items()]
    score = score_of(costs, [Severity(one) for one in failures.values()])
    return score, grade_of(score)


def test_the_weights_of_all_probes_are_a_hundred():
    assert sum(probe.weight for probe in PROBES.values()) == 100


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        ({}, (100, "A")),
        ({"get": "advice"}, (100, "A")),
        ({"quick": "should"}, (94, "B")),
        (
            {"bad_signature": "should", "tampered_body": "should", "stale_timestamp": "should"},
            (94, "B"),
        ),
        ({"unicode": "must"}, (69, "D")),
        ({"empty_signature": "critical"}, (39, "F")),
        ({"unicode": "must", "empty_signature": "critical"}, (39, "F")),
    ],
)
def test_the_worst_failure_limits_the_score(failures, expected):
    assert graded(**failures) == expected


def test_whatever_fails_without_being_serious_leaves_a_c():
    everything = {name.replace("-", "_"): "should" for name in PROBES}

    assert graded(**everything) == (70, "C")


def test_nothing_is_left_when_everything_fails():
    assert graded(**{name.replace("-", "_"): "critical" for name in PROBES}) == (0, "F")


def test_every_clause_that_a_probe_cites_has_an_entry():
    cited = {one for probe in PROBES.values() for one in citations(probe.source)}

    assert cited
    assert sorted(f"{kind} {id}" for kind, id in cited if id not in clauses()[kind]) == []
