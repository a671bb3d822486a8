"""The control endpoint that hands requests over: as curl, HAR, Markdown, a test or a scenario.

No key is in what it writes: commands take keys from variables of the shell, a test from its world.
"""

import asyncio
import json
import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict

from sandbox.control.export_case import ExportCase
from sandbox.control.export_proof import cast_of, steps_of, world_of
from sandbox.control.export_pytest import pytest_of, with_what_they_need
from sandbox.control.export_scenario import scenario_of
from sandbox.control.long import alone
from sandbox.control.rows import ControlFault, ControlRequest, invalid
from sandbox.domain.text import nearest
from sandbox.scenarios.loading import ScenarioError, parse_scenario
from sandbox.scenarios.toml import written_toml
from sandbox.store.steps import Steps
from sandbox.worlds.journal import Entry, EntryView
from sandbox.worlds.world import World

if TYPE_CHECKING:
    from sandbox.control.acting_shapes import ExportBody

ExportFormat = Literal["curl", "har", "markdown", "pytest", "scenario"]

ENTRIES_MAX: Final = 500
"""The newest requests, if more of them fit."""

BODIES_BYTES_MAX: Final = 4 * 1_048_576
"""The bodies of those requests and of their answers; older requests are left out."""


class ExportedFile(TypedDict):
    """A file: what to call it, its media type, its text, and how many requests are in it."""

    name: str
    media_type: str
    content: str
    requests: int


async def export(request: ControlRequest) -> ExportedFile:
    """Requests of the journal as a file. Secrets are masked, as in the journal."""
    slices = request.services.worlds.slices
    async with alone(request):
        case, file = await slices.run(_exported(request), is_large=True)
        if request.body.format == "pytest":
            await _must_come_again(request, case)
        return file


def _exported(request: ControlRequest) -> Steps[tuple[ExportCase, ExportedFile]]:
    """The case and its file, in steps: a journal may hold megabytes, and others wait for none."""
    body: ExportBody = request.body
    world, services = request.world, request.services
    entries = yield from _chosen(world, body)
    if not entries:
        raise ControlFault(409, "nothing_to_export", "no request of the journal fits")
    if body.format in ("pytest", "scenario"):
        entries = yield from with_what_they_need(world, entries)
    case = ExportCase(
        world=world,
        views=(yield from _views(world, entries)),
        scenarios={one.id: one.scenario for one in entries},
        url=services.platform_url.rstrip("/"),
        key_header=services.worlds.profile.api_key_header,
        version=services.version,
    )
    if body.format == "scenario":
        return case, (yield from _proved_scenario(request, case))
    write, name, media_type = _FORMATS[body.format]
    content = yield from write(case)
    return case, {
        "name": name,
        "media_type": media_type,
        "content": content,
        "requests": len(entries),
    }


async def _must_come_again(request: ControlRequest, case: ExportCase) -> None:
    """Raises ControlFault if the requests of a test are answered otherwise in its world.

    A fixture of somebody's own is known to this server alone, and is not proved with.
    Source: assumed D25-export.
    """
    if case.world.state.begins.fixture not in request.services.fixture_names():
        return
    world, cast, steps = world_of(case), cast_of(case), list(steps_of(case))
    # It takes a sandbox with a loop of its own; the platform goes on beside it.
    mistake = await asyncio.to_thread(request.services.repeat, world, cast, steps)
    if mistake is not None:
        raise ControlFault(
            409,
            "not_exportable",
            f"a test of these requests does not pass in a world of its own: {mistake}",
            details="export them with the requests that came before them, on which they depend",
        )


def _views(world: World, entries: list[Entry]) -> Steps[list[EntryView]]:
    views = []
    for entry in entries:
        views.append(world.journal.view(entry))
        yield
    return views


def _proved_scenario(request: ControlRequest, case: ExportCase) -> Steps[ExportedFile]:
    """The requests as a scenario whose examples came true. Raises ControlFault if they do not.

    Source: assumed D25-export.
    """
    document, count, left_out = yield from scenario_of(case)
    mistakes: list[str] = []

    def prove() -> None:
        try:
            steps = request.services.prove(parse_scenario(dict(document)))
            mistakes.extend(f"{step.name}: {one}" for step in steps for one in step.mistakes)
        except ScenarioError as error:
            mistakes.append(str(error))

    # Examples take a sandbox with a loop of its own; the platform goes on beside them.
    yield prove
    if mistakes:
        raise ControlFault(
            409,
            "not_exportable",
            f"a scenario of these requests does not come true in a demo world: {mistakes[0]}",
            details="`pytest` exports them with the world's own fixture, switches and readings",
        )
    lines = [f"# Left out, as scenarios have no word for it: {one}" for one in left_out]
    yield lambda: lines.append(written_toml(document))
    return {
        "name": "what-was-seen.toml",
        "media_type": "application/toml",
        "content": "\n".join(lines),
        "requests": count,
    }


def _chosen(world: World, body: "ExportBody") -> Steps[list[Entry]]:
    entries = world.journal.entries()
    if body.requests is not None:
        known = {one.id: one for one in entries}
        for id in body.requests:
            if id not in known:
                raise invalid(
                    f"requests: the journal has no {id[:80]!r}, or no longer has it",
                    nearest(id, known),
                )
        wanted = set(body.requests)
        entries = [one for one in entries if one.id in wanted]
    if body.since is not None:
        entries = [one for one in entries if one.at >= body.since]
    chosen: list[Entry] = []
    size = 0
    for entry in reversed(entries):
        if body.subject is None or _is_about(world, entry, body.subject):
            size += len(entry.request or b"") + len(entry.response or b"")
            if len(chosen) == ENTRIES_MAX or (chosen and size > BODIES_BYTES_MAX):
                break
            chosen.append(entry)
        yield
    return chosen[::-1]


def _is_about(world: World, entry: Entry, subject: str) -> bool:
    if subject in entry.path.split("/"):
        return True
    messages = (world.store.message(id) for id in entry.events)
    return any(one is not None and one.subject == subject for one in messages)


# --- formats ----------------------------------------------------------------------------------


def _variable(name: str) -> str:
    """The variable of the shell that holds a key."""
    return "KEY_" + "".join(one if one.isalnum() and one.isascii() else "_" for one in name).upper()


def _curl_of(case: ExportCase, view: EntryView) -> str:
    parts = ["curl -sS", f"-X {view['method']}", shlex.quote(case.address(view))]
    parts.append("-H 'accept: application/json'")
    if (name := case.key_name(view["key_id"])) is not None:
        parts.append(f'-H "{case.key_header}: ${_variable(name)}"')
    if view["request"] is not None:
        parts.append("-H 'content-type: application/json'")
        parts.append(f"--data-raw {shlex.quote(_text(view['request']))}")
    return " \\\n  ".join(parts)


def _text(body: Any) -> str:
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)


def _curl(case: ExportCase) -> Steps[str]:
    names = (case.key_name(view["key_id"]) for view in case.views)
    used = sorted({name for name in names if name is not None})
    lines = ["#!/bin/sh", "# Set these first; `sandbox keys` shows the keys of a world."]
    lines += [f': "${{{_variable(name)}:?is not set}}"' for name in used]
    for view in case.views:
        lines += ["", f"# {view['id']} was answered {view['status']}", _curl_of(case, view)]
        yield
    return "\n".join(lines) + "\n"


def _har(case: ExportCase) -> Steps[str]:
    creator = {"name": "uat-sandbox", "version": case.version}
    log = {"log": {"version": "1.2", "creator": creator, "entries": []}}
    before, after = json.dumps(log, indent=2).split("[]")
    entries = []
    for view in case.views:
        text = json.dumps(_har_entry(case, view), indent=2, ensure_ascii=False)
        entries.append("".join(f"\n      {line}" for line in text.split("\n")))
        yield
    return f"{before}[{','.join(entries)}\n    ]{after}\n"


def _har_entry(case: ExportCase, view: EntryView) -> dict[str, Any]:
    kind = "application/json"
    headers = [{"name": "accept", "value": kind}]
    if view["key"] is not None:
        headers.append({"name": case.key_header, "value": view["key"]})
    asked: dict[str, Any] = {
        "method": view["method"],
        "url": case.address(view),
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": headers,
        "queryString": [],
        "headersSize": -1,
        "bodySize": -1,
    }
    if view["request"] is not None:
        asked["postData"] = {"mimeType": kind, "text": _text(view["request"])}
    answer = "" if view["response"] is None else _text(view["response"])
    return {
        "startedDateTime": view["at"],
        "time": view["duration_ms"],
        "request": asked,
        "response": {
            "status": view["status"],
            "statusText": "",
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": [],
            "content": {"size": len(answer.encode()), "mimeType": kind, "text": answer},
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": -1,
        },
        "cache": {},
        "timings": {"send": 0, "wait": view["duration_ms"], "receive": 0},
        "comment": view["id"],
    }


def _markdown(case: ExportCase) -> Steps[str]:
    lines: list[str] = []
    for view in case.views:
        lines += [f"## `{view['method']} {_in_code(view['path'])}`: {view['status']}", ""]
        key = case.key_name(view["key_id"])
        lines += [f"`{view['id']}` at {view['at']}, " + (f"key `{key}`" if key else "no key"), ""]
        last = view["decisions"][-1]
        lines += [f"> {_plain(last['reason'])} ({last['clause']})", ""]
        for title, shown in (("Request", view["request"]), ("Response", view["response"])):
            if shown is not None:
                lines += [f"{title}:", "", *_block(json.dumps(shown, indent=2)), ""]
        yield
    return "\n".join(lines)


def _in_code(text: str) -> str:
    return text.replace("`", "'")


def _plain(text: str) -> str:
    """The text without what Markdown would obey."""
    return "".join(f"\\{one}" if one in "\\`*_[]<>#|!" else one for one in " ".join(text.split()))


def _block(text: str) -> list[str]:
    """The text as an indented block, which nothing in it can end."""
    return [f"    {line}" for line in text.splitlines()]


_FORMATS: Final[Mapping[str, tuple[Callable[[ExportCase], Steps[str]], str, str]]] = {
    "curl": (_curl, "requests.sh", "text/x-shellscript"),
    "har": (_har, "requests.har", "application/json"),
    "markdown": (_markdown, "requests.md", "text/markdown"),
    "pytest": (pytest_of, "test_what_was_seen.py", "text/x-python"),
}
"""How each format is written, what its file is called, and its media type."""
