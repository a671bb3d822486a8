"""`sandbox scenario`: checks, plays, runs, lists and prints scenarios."""

import sys
import tomllib
from pathlib import Path

import click

from sandbox import library
from sandbox.app import build
from sandbox.cli.arguments import FILE, SOME_SCENARIO
from sandbox.cli.control_client import RemoteWorld, WorldCommand
from sandbox.cli.main import Group
from sandbox.cli.output import (
    EXIT_UNUSABLE,
    Columns,
    Result,
    ResultCommand,
    refuse,
    say,
    show_json,
    show_table,
)
from sandbox.cli.scenario_play import load_scenario, play
from sandbox.scenario_examples.own_sandbox import Step, run_examples
from sandbox.scenarios.parser import ScenarioError, read_scenario
from sandbox.scenarios.schema import DIRECTIVE, scenario_schema


@click.group(cls=Group)
def scenario() -> None:
    """Check, play, run, list and print scenarios."""


@scenario.command(cls=ResultCommand, json="flag")
@click.argument("paths", nargs=-1, required=True, type=FILE)
def check(paths: tuple[Path, ...], *, as_json: bool) -> None:
    """Check scenarios by running all their examples. PATHS are files and folders.

    The exit status is 0 if all examples pass, 1 if one fails, 2 if a file cannot be used.

    \b
    Examples:
      sandbox scenario check scenarios/
      sandbox scenario check my-story.toml
    """
    files = [file for path in paths for file in _scenario_files(path)]
    results, unusable = _proved(files)
    failed = any(step.mistakes for _, steps in results for step in steps)
    if as_json:
        shown = [
            {
                "file": str(file),
                "examples": [
                    {
                        "name": step.name,
                        "mistakes": step.mistakes,
                        "near_misses": step.near_misses,
                    }
                    for step in steps
                ],
            }
            for file, steps in results
        ]
        ok = not failed and not unusable
        whole = {"ok": ok, "scenarios": shown, "unusable": unusable}
        show_json(whole)
    else:
        for file, steps in results:
            wrong = [step for step in steps if step.mistakes]
            verdict = f"{len(wrong)} wrong" if wrong else "ok"
            say(f"{file}: {len(steps)} examples, {verdict}")
            for step in wrong:
                for mistake in step.mistakes:
                    say(f"  {step.number} {step.name!r}: {mistake}")
                for near in step.near_misses:
                    say(f"  {step.number} {step.name!r}: near miss: {near}")
    for message in unusable:
        say(f"sandbox: {message}", err=True)
    sys.exit(EXIT_UNUSABLE if unusable else int(failed))


def _proved(files: list[Path]) -> tuple[list[tuple[Path, list[Step]]], list[str]]:
    """The results of the examples of each file, and the mistakes of unusable files."""
    results, unusable = [], []
    is_hidden = not sys.stderr.isatty()
    with click.progressbar(files, label="proving", file=sys.stderr, hidden=is_hidden) as going:
        for file in going:
            try:
                results.append((file, list(run_examples(read_scenario(file), build))))
            except ScenarioError as error:
                told = [
                    one if one.startswith(str(file)) else f"{file}: {one}"
                    for one in map(str, error.problems)
                ]
                more = error.total - len(told)
                unusable += [*told, f"{file}: and {more} more mistakes"] if more else told
    return results, unusable


def _scenario_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(path.glob("*.toml"))
    if not files:
        refuse(f"{path}: holds no scenario")
    return files


@scenario.command(name="list", cls=ResultCommand)
def list_scenarios() -> Result:
    """List the scenarios that come with the sandbox."""
    known = library.scenarios()
    listed = [{"name": name, "title": one.name, "about": one.about} for name, one in known.items()]
    columns: Columns = {"scenario": "name", "about": lambda one: one["about"] or one["title"]}
    return Result(listed, lambda _: show_table(listed, columns))


@scenario.command()
@click.argument("name", type=SOME_SCENARIO)
def show(name: str) -> None:
    """Print a library scenario as a starting point.

    NAME is the name of its file, or its title.
    """
    # The copy will not be beside the library's schema.
    click.echo(load_scenario(name)[1].removeprefix(DIRECTIVE), nl=False)


@scenario.command()
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors.

    \b
    Example:
      sandbox scenario schema > scenario.schema.json
    and as the first line of a scenario beside it:
      #:schema scenario.schema.json
    """
    show_json(scenario_schema())


@scenario.command(cls=WorldCommand)
@click.argument("name", type=SOME_SCENARIO)
def run(name: str, *, world: RemoteWorld) -> Result:
    """Run a scenario in a world, in place of the one that runs there.

    NAME is a name or title of the library, or a file.

    \b
    Examples:
      sandbox scenario run late_answer
      sandbox scenario run my-story.toml --world uat-7
    """
    running = world.read("PUT", "scenario", body=tomllib.loads(load_scenario(name)[1]))
    return Result(running, f"{running['name']} runs in {world.id}")


@scenario.command(cls=WorldCommand)
def stop(*, world: RemoteWorld) -> Result:
    """Stop the scenario of a world. Without one, nothing changes.

    \b
    Example:
      sandbox scenario stop --world uat-7
    """
    world.read("DELETE", "scenario")
    return Result({"world": world.id, "scenario": None}, f"no scenario runs in {world.id}")


scenario.add_command(play)
