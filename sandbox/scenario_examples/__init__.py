"""Rehearsing a scenario: its examples are carried out in a sandbox of their own, step by step."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sandbox.scenario_examples.runner import ExampleRunner

if TYPE_CHECKING:
    from sandbox.scenarios.shapes import Scenario


@dataclass(slots=True)
class Step:
    """What came of one example: what was not as it should be, in words."""

    number: int
    name: str
    mistakes: list[str] = field(default_factory=list)


def run_examples(scenario: "Scenario") -> Iterator[Step]:
    """Every example in turn, with what was wrong. Raises ScenarioError for unknown names."""
    stage = ExampleRunner(scenario)
    with asyncio.Runner() as runner:
        for number, example in enumerate(scenario.example, start=1):
            name = example.name or f"example {number}"
            yield Step(number, name, runner.run(stage.play(number, name, example)))
        runner.run(stage.close())
