"""The way of a payment from its route to its rule, in two phases."""

import sys
from types import FrameType
from typing import Any, get_type_hints

import pytest

from sandbox.domain.payments import follow_ups, initiation
from sandbox.platform import pipeline
from sandbox.platform.payments.actions import PendingAction
from sandbox.platform.payments.initiation import PendingInitiation
from sandbox.platform.payments.routes import ROWS
from tests.support.payments import OPERATIONS, attempt

RULES = {
    function.__code__
    for function in (initiation.transition_for, follow_ups.rule_for, follow_ups.transition_for)
}
CALLS_MAX = 3


class WaysToRules:
    """Notes the functions between the pipeline and each search for a rule, while a block runs."""

    def __init__(self) -> None:
        self.ways: list[list[str]] = []

    def __enter__(self) -> "WaysToRules":
        self._before = sys.getprofile()
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._before)

    def _note(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "call" or frame.f_code not in RULES:
            return
        way: list[str] = []
        above: FrameType | None = frame
        while above is not None and above.f_code.co_filename != pipeline.__file__:
            way.insert(0, above.f_code.co_name)
            above = above.f_back
        self.ways.append(way)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_route_reaches_its_rule_within_three_calls(sandbox, operation):
    with WaysToRules() as seen:
        answer = attempt(sandbox, operation).answer

    assert answer.status == 200
    assert seen.ways != []
    assert [way for way in seen.ways if len(way) > CALLS_MAX] == []


def test_these_are_the_operations_of_all_payment_routes():
    # A refund by id is the same operation as a refund by path.
    assert len({row.run for row in ROWS}) == len(OPERATIONS)


@pytest.mark.parametrize("kind", [PendingInitiation, PendingAction])
def test_what_waits_has_named_values_and_no_functions(kind):
    hints = get_type_hints(kind)

    assert list(hints) == list(kind.__struct_fields__)
    assert [name for name, hint in hints.items() if "Callable" in str(hint)] == []
    assert [name for name, hint in hints.items() if hint is Any] == []
