"""The pages about the interfaces: the APIs with their words, the command line, the library."""

from collections.abc import Iterator

import click

from sandbox.cli.serve import serve
from sandbox.control.routes import CONTROL
from sandbox.domain.access import ACCESS, Holds
from sandbox.domain.events import EVENTS
from sandbox.domain.faults import FAULTS
from sandbox.domain.permissions import ACTIONS
from sandbox.domain.readings import READINGS
from sandbox.domain.switches import SWITCHES
from sandbox.library import scenarios
from sandbox.platform.routes import OPERATIONS
from sandbox.platform.security import SECURITY_HEADERS
from tools.pages.markdown import NONE, code, listed, page, table


def endpoints() -> str:
    """Return the route table."""
    rows = [
        (
            code(f"{row.method} {row.path}"),
            code(row.name),
            str(row.need or NONE).replace(" or ", ", ")
            + (f". {row.about_besides}" if row.needs_besides else ""),
            "405, retired" if row.run is None else str(row.status),
            ", ".join(row.events) or NONE,
            row.source,
        )
        for row in OPERATIONS
    ]
    return page(
        "Endpoints of the platform",
        "One line per row of the route table. A permission with `:sub` is for descendant accounts.",
        table(("endpoint", "row", "permission", "success", "events", "source"), rows),
    )


def access() -> str:
    """Return the page about who can see and do what."""
    rows = [
        (held.value, *(f"{one.verdict} ({one.source})" for one in cells.values()))
        for held, cells in ACCESS.items()
    ]
    permissions = [(code(resource), listed(names)) for resource, names in ACTIONS.items()]
    return page(
        "Who may see and do what",
        "The answer for the permissions of the caller's key and the position of the target\n"
        "account. `hidden` and `gone` are 404 and look the same; `denied` is 401. Only\n"
        "permissions on API keys have a :sub form, for descendant accounts.",
        table(("the key holds", *ACCESS[Holds.BOTH]), rows),
        "## Permissions\n",
        table(("resource", "actions"), permissions),
    )


def events() -> str:
    """Return the page of all events."""
    rows = [
        (code(row.name), row.meaning, listed(row.sparse) if row.sparse else "whole resource")
        for row in EVENTS.values()
    ]
    return page(
        "Events",
        "Every event of the platform, with its fields.",
        table(("event", "meaning", "body"), rows),
    )


def errors() -> str:
    """Return the page of all refusals."""
    rows = [(str(f.status), code(f.code), f.message, f.source) for f in FAULTS]
    return page(
        "Errors",
        "Every refusal. API-key endpoints answer with `error`, `message` and `details`, the\n"
        "others in the shape that the profile names.",
        table(("status", "error", "message", "source"), rows),
        "Bytes that are not HTTP get a plain 400, and so does a head of more than 64 KiB.\n",
    )


def control() -> str:
    """Return the control endpoints."""
    rows = [(code(f"{row.method} {row.path}"), row.summary, str(row.status)) for row in CONTROL]
    headers = []
    for row in SECURITY_HEADERS:
        for value in dict.fromkeys(row.values.values()):
            kinds = ", ".join(kind.value for kind, one in row.values.items() if one == value)
            headers.append((code(row.name), code(value), kinds, row.why))
    return page(
        "Control endpoints",
        "For the operator. Errors have `error`, `message` and `details`, and `nearest` for a\n"
        "misspelt word.",
        table(("endpoint", "what it does", "success"), rows),
        "## Headers of answers\n",
        table(("header", "value", "for", "why"), headers),
    )


def switches() -> str:
    """Return the switches of a world."""
    rows = [
        (
            code(switch.name),
            switch.choices.removeprefix("one of "),
            code(str(switch.default).lower()),
            switch.about,
            code(switch.reading.id) if switch.reading else "",
            switch.source,
        )
        for switch in SWITCHES.values()
    ]
    return page(
        "Switches",
        "Switches change how a world behaves. A switch with a reading sets that reading, and "
        "shows its value.",
        table(("switch", "values", "default", "what it changes", "reading", "source"), rows),
    )


def readings() -> str:
    """Return the readings of a world."""
    rows = [
        (
            code(reading.id),
            reading.sentence,
            code(name) + (" (default)" if name == reading.default else ""),
            meaning,
            reading.clause,
        )
        for reading in READINGS.values()
        for name, meaning in reading.values.items()
    ]
    return page(
        "Readings",
        "Some sentences of the spec can be read in several ways. A profile chooses for every "
        "world, in its table `[readings]`, and a world chooses for itself.",
        table(("reading", "sentence", "value", "what it means", "source"), rows),
    )


def demonstrations() -> str:
    """Describe what each scenario shows, and the command that plays it."""
    return page(
        "Demonstrations",
        "Each line is a story to play before an audience, one step for each key press, with the\n"
        "answer, the webhooks and the clock beside it. It plays in a world of its own, on your\n"
        "running server. [The guide](../guides/console.md#demonstrations) has transcripts.",
        table(
            ("to show", "run", "steps"),
            [
                (found.about, code(f"sandbox scenario play {name}"), str(len(found.example)))
                for name, found in scenarios().items()
            ],
        ),
    )


def settings() -> str:
    """Return the page of options, each with its variable, default and meaning."""
    return page(
        "Settings of a server",
        "The options of `sandbox serve`. Each has an environment variable, for containers and CI.\n"
        "Options on the command line take precedence. A flag is set by `1` or `true`. A variable\n"
        "for an option that may be given several times takes several values, separated by spaces.",
        table(("option", "variable", "default", "meaning"), _options()),
    )


def _options() -> Iterator[tuple[str, str, str, str]]:
    context = click.Context(serve, info_name="serve")
    for option in [one for one in serve.params if isinstance(one, click.Option)]:
        default = option.get_default(context)
        has_default = isinstance(default, str | int) and not isinstance(default, bool)
        shown = code(str(default)) if has_default else NONE
        yield code(option.opts[0]), code(str(option.envvar)), shown, option.help or ""
