"""What failures cost, and which grade is left."""

from sandbox.doctor.examination import grade_of, score_of
from sandbox.doctor.probe import Severity, Way
from sandbox.doctor.probes import PROBES


def graded(failures: dict[str, str]) -> tuple[int, str]:
    """Score and grade after failures of probes: by name, with their severity."""
    percent = {"critical": 100, "must": 100, "should": 30, "advice": 0}
    costs = [(PROBES[name].weight, percent[s]) for name, s in failures.items()]
    score = score_of(costs, [Severity(one) for one in failures.values()])
    return score, grade_of(score)


def test_the_weights_of_all_probes_are_a_hundred():
    assert sum(probe.weight for probe in PROBES.values()) == 100


def test_the_worst_failure_limits_the_score():
    three = dict.fromkeys(("bad-signature", "tampered-body", "stale-timestamp"), "should")
    for failures, expected in (
        ({}, (100, "A")),
        ({"get": "advice"}, (100, "A")),
        ({"quick": "should"}, (94, "B")),
        (three, (94, "B")),
        ({"unicode": "must"}, (69, "D")),
        ({"empty-signature": "critical"}, (39, "F")),
        ({"unicode": "must", "empty-signature": "critical"}, (39, "F")),
        (dict.fromkeys(PROBES, "should"), (70, "C")),
        (dict.fromkeys(PROBES, "critical"), (0, "F")),
    ):
        assert graded(failures) == expected, failures


def test_every_way_of_failing_has_its_advice():
    for name, probe in PROBES.items():
        for way in Way:
            is_right = probe.is_met_by(way) or way == Way.SLOW
            assert is_right or probe.advice_on(way), (name, way)
