"""`sandbox scenario`: checks, plays, lists and prints scenarios."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sandbox.cli.exit_status import EXIT_UNUSABLE, refuse
from sandbox.cli.group import Group
from sandbox.cli.known import SOME_SCENARIO
from sandbox.cli.play import play
from sandbox.cli.story import run, stop
from sandbox.cli.tables import say, show_json, show_table
from sandbox.domain.text import decode_text

if TYPE_CHECKING:
    from sandbox.scenario_examples import Step


@click.group(cls=Group)
def scenario() -> None:
    """Check, play, run, list and print scenarios."""


@scenario.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
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


def _proved(files: list[Path]) -> "tuple[list[tuple[Path, list[Step]]], list[str]]":
    """The results of the examples of each file, and the mistakes of unusable files."""
    from sandbox.app import build
    from sandbox.scenario_examples import run_examples
    from sandbox.scenarios.parser import ScenarioError, read_scenario

    results, unusable = [], []
    is_hidden = not sys.stderr.isatty()
    with click.progressbar(files, label="proving", file=sys.stderr, hidden=is_hidden) as going:
        for file in going:
            try:
                results.append((file, list(run_examples(read_scenario(file), build))))
            except ScenarioError as error:
                told = [
                    one if one.startswith(str(file)) else f"{file}: {one}" for one in error.mistakes
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


@scenario.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_scenarios(*, as_json: bool) -> None:
    """List the scenarios that come with the sandbox."""
    from sandbox import library

    known = library.scenarios()
    if as_json:
        shown = [
            {"name": name, "title": one.name, "about": one.about} for name, one in known.items()
        ]
        show_json(shown)
        return
    show_table(
        ("scenario", "about"), [(name, one.about or one.name) for name, one in known.items()]
    )


@scenario.command()
@click.argument("name", type=SOME_SCENARIO)
def show(name: str) -> None:
    """Print a library scenario as a starting point.

    NAME is the name of its file, or its title.
    """
    from sandbox import library
    from sandbox.scenarios.parser import ScenarioError, read_scenario
    from sandbox.scenarios.schema import DIRECTIVE

    try:
        path = library.scenario_file(name)
        read_scenario(path)
    except ScenarioError as error:
        refuse(str(error))
    # The copy will not be beside the library's schema.
    click.echo(decode_text(path.read_bytes()).removeprefix(DIRECTIVE), nl=False)


@scenario.command()
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors.

    \b
    Example:
      sandbox scenario schema > scenario.schema.json
    and as the first line of a scenario beside it:
      #:schema scenario.schema.json
    """
    from sandbox.scenarios.schema import scenario_schema

    show_json(scenario_schema())


scenario.add_command(play)
scenario.add_command(run)
scenario.add_command(stop)
