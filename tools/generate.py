"""Writes docs/reference, fixtures and the schema of scenarios: `make golden`.

All of it comes from the tables in the code. Tests compare it with the committed files.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final

import click

from sandbox.cli.main import COMMANDS_FILE, main
from sandbox.control.ledger import LEDGER_FILE as LEDGER
from sandbox.library import folder
from sandbox.scenarios.schema import NAME, scenario_schema
from tools import busy_fixture, golden_answers, golden_events, openapi
from tools.pages import answers, bodies, ledger, machines, surface

FOLDER: Final = Path(__file__).parents[1] / "docs" / "reference"
SCHEMA: Final = folder("scenarios") / NAME

PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "endpoints.md": surface.endpoints,
    "bodies.md": bodies.bodies,
    "access.md": surface.access,
    "states.md": machines.states,
    "transactions.md": machines.transactions,
    "batches.md": machines.batches,
    "outcomes.md": answers.outcomes,
    "cards.md": answers.cards,
    "triggers.md": answers.triggers,
    "events.md": surface.events,
    "errors.md": surface.errors,
    "control.md": surface.control,
    "switches.md": surface.switches,
    "readings.md": surface.readings,
    "settings.md": surface.settings,
    "demonstrations.md": surface.demonstrations,
    "ledger.md": ledger.ledger,
}


@cache
def pages() -> dict[str, str]:
    """Return the text of every generated page by file name."""
    return {name: write() for name, write in PAGES.items()}


def of_tables() -> dict[Path, str]:
    """Return the texts of pages, ledger, commands, and the schema of scenario files, by path."""
    written = {FOLDER / name: text for name, text in pages().items()}
    written |= {LEDGER: ledger.ledger_file(), COMMANDS_FILE: commands_file()}
    return written | {SCHEMA: json.dumps(scenario_schema(), indent=2) + "\n"}


def commands_file() -> str:
    """Return each command with its module and its line in the help, which is empty if hidden."""
    modules = [
        import_module(f"sandbox.cli.{one.stem}") for one in COMMANDS_FILE.parent.glob("*.py")
    ]
    found = [one for module in modules for one in vars(module).values() if one is not main]
    groups = [one for one in found if isinstance(one, click.Group)]
    below = [one for group in groups for one in group.commands.values()]
    listed = {}
    for one in found:
        if isinstance(one, click.Command) and one not in below:
            sentence = "" if one.hidden else one.get_short_help_str(1_000)
            listed[one.name] = (one.callback.__module__.rpartition(".")[2], sentence)
    return json.dumps(dict(sorted(listed.items())), indent=2) + "\n"


def files() -> Iterator[tuple[Path, str]]:
    """Path and text of every file. The later ones show the answers and the events."""
    yield busy_fixture.FILE, busy_fixture.content()
    for event_type, text in golden_events.bodies().items():
        yield golden_events.FOLDER / f"{event_type}.json", text
    yield from golden_answers.files().items()
    yield from of_tables().items()
    for name, text in openapi.documents().items():
        yield openapi.FOLDER / name, text


if __name__ == "__main__":
    for path, text in files():
        path.write_text(text, encoding="utf-8")
