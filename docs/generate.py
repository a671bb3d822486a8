"""Writes docs/generated from the tables in the code: `make golden`.

`pages()` gives every page's text; a test compares it with what is committed.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from sandbox.api.routes import OPERATIONS
from sandbox.api.rows import Row
from sandbox.control.routes import CONTROL
from sandbox.domain.access import ACCESS
from sandbox.domain.directory import DIRECTORIES
from sandbox.domain.events import EVENTS
from sandbox.domain.faults import FAULTS
from sandbox.domain.hierarchy import Relation
from sandbox.domain.keys import KEY_LIFE
from sandbox.domain.permissions import ACTIONS
from sandbox.domain.states import Machine
from sandbox.library import folder
from sandbox.world.switches import SWITCHES

FOLDER: Final = Path(__file__).parent / "generated"
SHIPPED: Final = Path(__file__).parent.parent / "sandbox" / "store" / "shipped.py"
_HEAD: Final = "<!-- Written by `make golden` from the tables in the code. Do not edit. -->\n\n"


def pages() -> dict[str, str]:
    """File name to text, for every generated page."""
    return {
        "endpoints.md": _endpoints(),
        "access.md": _access(),
        "states.md": _states(),
        "events.md": _events(),
        "errors.md": _errors(),
        "control.md": _control(),
        "switches.md": _switches(),
    }


def _endpoints() -> str:
    rows = [
        (
            f"`{row.method} {row.path}`",
            f"`{row.name}`",
            str(row.need or "-").replace(" or ", ", "),
            _status(row),
            ", ".join(row.events) or "-",
            row.source,
        )
        for row in OPERATIONS
    ]
    return _page(
        "Endpoints of the platform",
        "One line per row of the route table. A permission with `:sub` is for descendant accounts.",
        _table(("endpoint", "row", "permission", "success", "events", "source"), rows),
    )


def _status(row: Row) -> str:
    return "405, retired" if row.run is None else str(row.status)


def _access() -> str:
    rows = []
    for held, cells in ACCESS.items():
        row = [held.value]
        row += [f"{cells[relation].verdict} ({cells[relation].source})" for relation in Relation]
        rows.append(row)
    permissions = [
        (f"`{resource}`", ", ".join(f"`{a}`" for a in names)) for resource, names in ACTIONS.items()
    ]
    return _page(
        "Who may see and do what",
        "What the caller's key holds for an operation, against where the target account stands.\n"
        "`hidden` and `gone` are 404 and look the same; `denied` is 401. Only API keys tell the\n"
        "base and the :sub form apart.",
        _table(("the key holds", *(relation.value for relation in Relation)), rows),
        "## Permissions\n",
        _table(("resource", "actions"), permissions),
    )


def _states() -> str:
    machines = (KEY_LIFE, *(directory.life for directory in DIRECTORIES))
    parts = [_machine(machine) for machine in machines]
    return _page("State machines", "Drawn from the rows that the code walks.", *parts)


def _machine(machine: Machine) -> str:
    rows = [
        (step.state, step.trigger, step.target, step.event or "-", step.source)
        for step in machine.steps
    ]
    arrows = "\n".join(
        f"    {step.state} --> {step.target}: {step.trigger}" for step in machine.steps
    )
    diagram = f"```mermaid\nstateDiagram-v2\n    [*] --> active\n{arrows}\n```\n"
    table = _table(("from", "trigger", "to", "event", "source"), rows)
    return f"## {machine.name}\n\n{diagram}\n{table}\n"


def _events() -> str:
    rows = [
        (
            f"`{row.name}`",
            row.meaning,
            ", ".join(f"`{field}`" for field in row.sparse) or "whole resource",
        )
        for row in EVENTS.values()
    ]
    return _page(
        "Events",
        "Every event of the platform. Which of them are fired already stands in the README.",
        _table(("event", "meaning", "body"), rows),
    )


def _errors() -> str:
    rows = [(str(f.status), f"`{f.code}`", f.message, f.source) for f in FAULTS]
    return _page(
        "Errors",
        "Every refusal. API-key endpoints answer `error`, `message`, `details`; the others the\n"
        "shape that the profile names.",
        _table(("status", "error", "message", "source"), rows),
    )


def _control() -> str:
    rows = [(f"`{row.method} {row.path}`", row.summary, str(row.status)) for row in CONTROL]
    return _page(
        "Control endpoints",
        "For the operator; errors are `error`, `message`, `details`, and `nearest` for a\n"
        "misspelt word.",
        _table(("endpoint", "what it does", "success"), rows),
    )


def _switches() -> str:
    rows = [
        (
            f"`{switch.name}`",
            switch.choices.removeprefix("one of "),
            f"`{str(switch.default).lower()}`",
            switch.about,
            switch.source,
        )
        for switch in SWITCHES.values()
    ]
    return _page(
        "Switches",
        "Where the spec leaves a choice, a world can be told to take the other reading.",
        _table(("switch", "values", "default", "what it changes", "source"), rows),
    )


def _page(title: str, about: str, *parts: str) -> str:
    return _HEAD + "\n".join((f"# {title}\n", f"{about}\n", *parts))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    lines += [" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows]
    return "".join(f"| {line} |\n" for line in lines)


def shipped_module() -> str:
    """The module that knows the digests of the fixtures as they are shipped."""
    digests = sorted(
        sha256(path.read_bytes()).hexdigest() for path in folder("fixtures").glob("*.json")
    )
    lines = "".join(f'        "{digest}",\n' for digest in digests)
    return (
        '"""Digests of the fixtures as they are shipped. Written by `make golden`."""\n\n'
        f"from typing import Final\n\nDIGESTS: Final = frozenset(\n    {{\n{lines}    }}\n)\n"
    )


def main() -> None:
    """Write every page, and the digests of the fixtures."""
    SHIPPED.write_text(shipped_module(), encoding="utf-8")
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
