"""Running the examples of a scenario in a sandbox of their own, step by step."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sandbox.scenario_examples.runner import ExampleRunner

if TYPE_CHECKING:
    from sandbox.scenarios.shapes import Scenario


@dataclass(slots=True)
class Step:
    """The result of one example: its mistakes, in words."""

    number: int
    name: str
    mistakes: list[str] = field(default_factory=list)


def run_examples(scenario: "Scenario") -> Iterator[Step]:
    """Run the examples in order; yields each result. Raises ScenarioError for unknown names."""
    stage = ExampleRunner(scenario)
    with asyncio.Runner() as runner:
        for number, example in enumerate(scenario.example, start=1):
            name = example.name or f"example {number}"
            yield Step(number, name, runner.run(stage.play(number, name, example)))
        runner.run(stage.close())
