"""The command `sandbox`. Each subcommand reads its options, and leaves the work to others."""

import gc
import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from sandbox import __version__

EXIT_UNUSABLE = 2
"""Something that was given cannot be used: an option, a file, a port."""


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="sandbox")
def main() -> None:
    """A card-present payment sandbox on localhost: deterministic, isolated, without credentials."""
    # Pydantic would look through every installed package for plugins that we do not use.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


class _ClockType(click.ParamType[Any]):
    """`running`, or an instant at which the clock is frozen."""

    name = "running|INSTANT"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The clock setting. Fails for what is neither."""
        from sandbox.world.clock import ClockSetting

        if not isinstance(value, str):
            return value
        if value == "running":
            return ClockSetting()
        from sandbox.control.shapes import ClockBody

        try:
            return ClockBody.model_validate({"now": value, "mode": "frozen"}).setting()
        except ValueError:
            self.fail(f"{value!r} is neither 'running' nor an instant like 2026-07-01T00:00:00Z")


class _InventType(click.ParamType[Any]):
    """How much to invent: `merchants=200,terminals_per_merchant=2`."""

    name = "merchants=N[,...]"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The invention. Fails with what is wrong and what is possible."""
        from pydantic_core import ValidationError

        from sandbox.control.shapes import InventBody
        from sandbox.settings import mistakes

        if not isinstance(value, str):
            return value
        try:
            counts = {name: int(count) for name, count in (p.split("=") for p in value.split(","))}
            return InventBody.model_validate(counts).invention()
        except ValidationError as error:
            self.fail(mistakes(error))
        except ValueError:
            self.fail(f"{value!r}: write it like merchants=200,terminals_per_merchant=2")


@main.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8080,
    show_default=True,
    help="Port of the platform; 0 takes a free one.",
)
@click.option(
    "--control-port",
    type=click.IntRange(0, 65535),
    help="A port of its own for /_sandbox, which the platform's port then answers with 404.",
)
@click.option(
    "--fixture",
    default="demo",
    show_default=True,
    help="What the world 'default' begins with: a name under fixtures/, or a file.",
)
@click.option(
    "--invent",
    "invention",
    type=_InventType(),
    help="Believable merchants beside the fixture's: merchants=200,terminals_per_merchant=2.",
)
@click.option(
    "--scenario",
    help="What runs in 'default' from the start: a name or title of scenarios/, or a file.",
)
@click.option("--watch", is_flag=True, help="Read the scenario's file again whenever it changes.")
@click.option(
    "--seed",
    type=click.IntRange(-(2**63), 2**63 - 1),
    default=1,
    show_default=True,
    help="Where ids come from; the seed of every world that names none.",
)
@click.option(
    "--clock",
    type=_ClockType(),
    default="running",
    show_default=True,
    help="The clock of 'default': running, or frozen at an instant.",
)
@click.option(
    "--profile",
    type=click.Path(path_type=Path),
    help="TOML file with the real platform's names for headers, prefixes and fields.",
)
@click.option(
    "--store",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keep all worlds in this file, and go on from it: state.json for people, state.db for "
    "more than a thousand documents.",
)
@click.option("--token", envvar="SANDBOX_TOKEN", help="Bearer token of the control surface.")
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How the server writes what it has to say.",
)
@click.option("--log-requests", is_flag=True, help="Also write a line per request.")
@click.option(
    "--no-explain-headers", is_flag=True, help="Leave x-sandbox-* headers out of all answers."
)
@click.option(
    "--worlds-max",
    type=click.IntRange(1),
    default=1_000,
    show_default=True,
    help="How many worlds the server holds.",
)
@click.option(
    "--worlds-unused-after-s",
    type=click.FloatRange(1),
    default=86_400.0,
    show_default=True,
    help="Seconds after which a world that nobody used is dropped.",
)
@click.option(
    "--journal-entries-max",
    type=click.IntRange(1),
    default=1_000,
    show_default=True,
    help="How many requests each world's journal keeps.",
)
@click.option(
    "--webhooks-to",
    multiple=True,
    metavar="HOST|NETWORK",
    help="An internal host or network that webhooks may go to, though the server is not bound to "
    "loopback. May be given several times.",
)
def serve(
    *,
    profile: Path | None,
    no_explain_headers: bool,
    worlds_max: int,
    worlds_unused_after_s: float,
    journal_entries_max: int,
    **options: Any,
) -> None:
    r"""Serve the platform and its control surface until interrupted.

    \b
    Examples:
      sandbox serve
      sandbox serve --port 0 --seed 7 --clock 2026-07-01T09:00:00Z
      sandbox serve --control-port 8081 --profile my-platform.toml
      sandbox serve --scenario my-story.toml --watch
    """
    # Until it serves there is nothing to collect; the server enables it again.
    gc.disable()
    # Imported here, so that `sandbox --help` does not wait for a server.
    from sandbox.domain.profile import Profile
    from sandbox.scenarios.loading import ScenarioError
    from sandbox.server import serve as run
    from sandbox.settings import Settings, SettingsError, read_profile
    from sandbox.store.files import StoreError
    from sandbox.store.fixtures import FixtureError
    from sandbox.world.registry import Limits

    limits = Limits(
        worlds_max=worlds_max,
        unused_after_s=worlds_unused_after_s,
        journal_entries_max=journal_entries_max,
    )
    try:
        run(
            Settings(
                profile=read_profile(profile) if profile else Profile(),
                explain_headers=not no_explain_headers,
                limits=limits,
                **options,
            )
        )
    except (SettingsError, FixtureError, ScenarioError, StoreError) as error:
        _refuse(str(error))
    finally:
        gc.enable()


@main.group()
def scenario() -> None:
    """Prove, list and show scenarios."""


@scenario.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(paths: tuple[Path, ...], *, as_json: bool) -> None:
    r"""Read scenarios and prove all their examples. PATHS are files and folders.

    The exit status is 0 when all is as it should be, 1 when an example is not, 2 when a file
    cannot be used.

    \b
    Examples:
      sandbox scenario check scenarios/
      sandbox scenario check my-story.toml
    """
    from sandbox.rehearsing import rehearse
    from sandbox.scenarios.loading import ScenarioError, read_scenario

    files = [file for path in paths for file in _scenario_files(path)]
    results, unusable = [], []
    for file in files:
        try:
            results.append((file, list(rehearse(read_scenario(file)))))
        except ScenarioError as error:
            message = str(error)
            unusable.append(message if message.startswith(str(file)) else f"{file}: {message}")
    failed = any(step.mistakes for _, steps in results for step in steps)
    if as_json:
        shown = [
            {
                "file": str(file),
                "examples": [{"name": step.name, "mistakes": step.mistakes} for step in steps],
            }
            for file, steps in results
        ]
        ok = not failed and not unusable
        whole = {"ok": ok, "scenarios": shown, "unusable": unusable}
        click.echo(json.dumps(whole, indent=2))
    else:
        for file, steps in results:
            wrong = [step for step in steps if step.mistakes]
            verdict = f"{len(wrong)} wrong" if wrong else "ok"
            click.echo(f"{file}: {len(steps)} examples, {verdict}")
            for step in wrong:
                for mistake in step.mistakes:
                    click.echo(f"  {step.number} {step.name!r}: {mistake}")
    for message in unusable:
        click.echo(f"sandbox: {message}", err=True)
    sys.exit(EXIT_UNUSABLE if unusable else int(failed))


def _scenario_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(path.glob("*.toml"))
    if not files:
        _refuse(f"{path}: holds no scenario")
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
        click.echo(json.dumps(shown, indent=2))
        return
    width = max(map(len, known), default=0)
    for name, one in known.items():
        click.echo(f"{name:<{width}}  {one.about or one.name}")


@scenario.command()
@click.argument("name")
def show(name: str) -> None:
    """Print a scenario of the library, as a file to begin one's own with.

    NAME is that of its file, or its title.
    """
    from sandbox import library
    from sandbox.scenarios.loading import ScenarioError, read_scenario
    from sandbox.scenarios.schema import DIRECTIVE

    try:
        path = library.scenario_file(name)
        read_scenario(path)
    except ScenarioError as error:
        _refuse(str(error))
    # The file will lie elsewhere, where the library's schema is not beside it.
    click.echo(path.read_text(encoding="utf-8").removeprefix(DIRECTIVE), nl=False)


@scenario.command()
def schema() -> None:
    r"""Print the JSON Schema of scenario files, for an editor that completes and checks them.

    \b
    Example:
      sandbox scenario schema > scenario.schema.json
    and as the first line of a scenario beside it:
      #:schema scenario.schema.json
    """
    from sandbox.scenarios.schema import scenario_schema

    click.echo(json.dumps(scenario_schema(), indent=2))


def _refuse(message: str) -> None:
    click.echo(f"sandbox: {message}", err=True)
    sys.exit(EXIT_UNUSABLE)
