"""Writes docs/reference, fixtures and the schema of scenarios: `make golden`.

All of it comes from the tables in the code. `pages()` gives every page's text,
`golden_events.bodies()` that of every event, `busy_fixture.content()` the fixture `busy`,
`schema_file()` the schema, `golden_answers.files()` the answers of operations, and
`openapi.documents()` both documents, and `console_types.content()` the types of the console.
Tests compare them with the committed files.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from sandbox.control.ledger import LEDGER_FILE as LEDGER
from sandbox.library import folder
from sandbox.scenarios.schema import NAME, scenario_schema
from tools import busy_fixture, console_types, golden_answers, golden_events, openapi
from tools.pages import answers, bodies, demonstrations, ledger, machines, settings, surface

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
    "settings.md": settings.settings,
    "demonstrations.md": demonstrations.demonstrations,
    "ledger.md": ledger.ledger,
}


def pages() -> dict[str, str]:
    """File name to text, for every generated page."""
    return {name: write() for name, write in PAGES.items()}


def schema_file() -> str:
    """Return the JSON Schema of scenario files, which lies beside those of the library."""
    return json.dumps(scenario_schema(), indent=2) + "\n"


def main() -> None:
    """Write every generated file."""
    busy_fixture.FILE.write_text(busy_fixture.content(), encoding="utf-8")
    SCHEMA.write_text(schema_file(), encoding="utf-8")
    LEDGER.write_text(ledger.ledger_file(), encoding="utf-8")
    golden_events.FOLDER.mkdir(exist_ok=True)
    for event_type, text in golden_events.bodies().items():
        (golden_events.FOLDER / f"{event_type}.json").write_text(text, encoding="utf-8")
    for path, text in golden_answers.files().items():
        path.write_text(text, encoding="utf-8")
    # Pages and documents show the answers and the events.
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    openapi.FOLDER.mkdir(exist_ok=True)
    for name, text in openapi.documents().items():
        (openapi.FOLDER / name).write_text(text, encoding="utf-8")
    console_types.FILE.write_text(console_types.content(), encoding="utf-8")


if __name__ == "__main__":
    main()
