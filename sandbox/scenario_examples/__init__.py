"""Running the examples of a scenario in a sandbox of their own, step by step."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sandbox.scenario_examples.in_process import InProcessStage
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
    stage = InProcessStage(scenario)
    examples = ExampleRunner(stage)
    with asyncio.Runner() as runner:
        runner.run(stage.listen())
        for number, example in enumerate(scenario.example, start=1):
            name = example.name or f"example {number}"
            mistakes, _ = runner.run(examples.play(number, name, example))
            yield Step(number, name, mistakes)
        runner.run(stage.close())
