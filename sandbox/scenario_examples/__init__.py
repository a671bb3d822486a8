"""Running the examples of a scenario in a sandbox of their own, step by step."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import monotonic

from sandbox.scenario_examples import virtual_time
from sandbox.scenario_examples.own_sandbox import InProcessStage
from sandbox.scenario_examples.requests import Build
from sandbox.scenario_examples.runner import ExampleRunner
from sandbox.scenario_examples.virtual_time import FAR_S
from sandbox.scenarios.scenario import Scenario


@dataclass(slots=True)
class Step:
    """The result of one example: its mistakes, in words.

    With mistakes there are the near misses too: the rules that nearly decided its requests.
    """

    number: int
    name: str
    mistakes: list[str] = field(default_factory=list)
    near_misses: list[str] = field(default_factory=list)


def run_examples(
    scenario: Scenario, build: Build, *, within_s: float | None = None
) -> Iterator[Step]:
    """Run the examples in order; yields each result. Raises ScenarioError for unknown names.

    `build` makes the sandbox. Delays of real time are skipped. An example that is not done
    `within_s` seconds from the first one's start is given up, and so are those after it.
    """
    end = None if within_s is None else monotonic() + within_s
    stage = InProcessStage(scenario, build)
    examples = ExampleRunner(stage)
    with virtual_time.runner(end) as runner:
        runner.run(stage.listen())
        for number, example in enumerate(scenario.example, start=1):
            name = example.name or f"example {number}"
            left = FAR_S if end is None or monotonic() < end else 0
            stage.begin_step()
            try:
                mistakes, _ = runner.run(
                    asyncio.wait_for(examples.play(number, name, example), left)
                )
            except TimeoutError:
                mistakes = [f"was given up: the examples took more than {within_s:g} s in all"]
            yield Step(number, name, mistakes, stage.near_misses() if mistakes else [])
        runner.run(stage.close())
