"""Exports: requests of the journal as curl, HAR, Markdown, a test or a scenario.

Exports contain no keys: commands take them from shell variables, and a test from its world. A
scenario only has words for payments and actions on them; it names what was left out.
"""

import json
import re
import shlex
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from itertools import accumulate
from textwrap import indent
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from sandbox.control.context import ControlRequest, cast_names, conflict, exclusive_world, invalid
from sandbox.control.export_checks import OUTCOME_HEADER, fault_of, is_outcome_refused, queue_again
from sandbox.control.export_tests import STEP_S, ExportCase, add_needed, write_proved_test
from sandbox.control.journal import JournalEntry, is_about, unusual_headers, view_entry
from sandbox.control.models import Body, View
from sandbox.control.routing import WORLD, post
from sandbox.domain.instants import Instant, parse_rfc3339
from sandbox.domain.json_text import fields_of
from sandbox.domain.operations import API
from sandbox.domain.payments.outcomes import Operation
from sandbox.domain.text import nearest
from sandbox.domain.transport_faults import LOST
from sandbox.scenarios.parser import ScenarioError, parse_scenario, to_toml
from sandbox.worlds.background import collect, run_in_thread, select
from sandbox.worlds.journal import Entry
from sandbox.worlds.world import World

# --- formats ----------------------------------------------------------------------------------


def _variable(name: str) -> str:
    """Return the shell variable that holds a key."""
    return "KEY_" + re.sub("[^A-Za-z0-9]", "_", name).upper()


_JSON: Final = {"accept": "application/json", "content-type": "application/json"}


def _curl_of(case: ExportCase, view: JournalEntry) -> str:
    # With `-X HEAD` curl would wait for the body of the answer.
    method = "--head" if view.method == "HEAD" else f"-X {view.method}"
    parts = ["curl -sS", method, shlex.quote(case.address(view))]
    headers = _JSON | unusual_headers(view.headers)
    parts.append(f"-H {shlex.quote('accept: ' + headers['accept'])}")
    if (name := case.key_name(view.key_id)) is not None:
        parts.append(f'-H "{case.world.profile.api_key_header}: ${_variable(name)}"')
    if (outcome := headers.get(OUTCOME_HEADER)) is not None:
        parts.append(f"-H {shlex.quote(f'{OUTCOME_HEADER}: {outcome}')}")
    if view.request is not None:
        parts.append(f"-H {shlex.quote('content-type: ' + headers['content-type'])}")
        parts.append(f"--data-raw {shlex.quote(body_text(view.request))}")
    return " \\\n  ".join(parts)


def body_text(body: Any) -> str:
    """Return a body as text: unchanged if it is text, else as JSON."""
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)


def write_curl(case: ExportCase) -> str:
    """Write the requests as a shell script."""
    used = {case.key_name(view.key_id) for view in case.views} - {None}
    lines = ["#!/bin/sh", "# Set these first; `sandbox keys` shows the keys of a world."]
    lines += sorted(f': "${{{_variable(str(name))}:?is not set}}"' for name in used)
    if case.services.ca is not None:
        lines.append("# The server has this file at /_sandbox/ca.pem: save it here, or name yours.")
        lines.append('export CURL_CA_BUNDLE="${CURL_CA_BUNDLE:-ca.pem}"')
    for view in case.views:
        lines += ["", f"# {view.id} was answered {view.status}", _curl_of(case, view)]
    return "\n".join(lines) + "\n"


def write_har(case: ExportCase) -> str:
    """Write the requests as an HTTP archive."""
    creator = {"name": "uat-sandbox", "version": case.services.version}
    entries = [_har_entry(case, view) for view in case.views]
    log = {"log": {"version": "1.2", "creator": creator, "entries": entries}}
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


_NOT_SEEN: Final = {"httpVersion": "HTTP/1.1", "cookies": [], "headersSize": -1, "bodySize": -1}


def _har_entry(case: ExportCase, view: JournalEntry) -> dict[str, Any]:
    said = _JSON | unusual_headers(view.headers)
    kind = said["content-type"]
    headers = [{"name": "accept", "value": said["accept"]}]
    if view.key is not None:
        headers.append({"name": case.world.profile.api_key_header, "value": view.key})
    if (outcome := said.get(OUTCOME_HEADER)) is not None:
        headers.append({"name": OUTCOME_HEADER, "value": outcome})
    asked = {"method": view.method, "url": case.address(view), "queryString": [], **_NOT_SEEN}
    if view.request is not None:
        headers.append({"name": "content-type", "value": kind})
        asked["postData"] = {"mimeType": kind, "text": body_text(view.request)}
    text = "" if view.response is None else body_text(view.response)
    content = {"size": len(text.encode()), "mimeType": "application/json", "text": text}
    answer = {"status": view.status, "statusText": "", "redirectURL": "", **_NOT_SEEN}
    return {
        "startedDateTime": view.at,
        "time": view.duration_ms,
        "request": {**asked, "headers": headers},
        "response": {**answer, "headers": [], "content": content},
        "cache": {},
        "timings": {"send": 0, "wait": view.duration_ms, "receive": 0},
        "comment": view.id,
    }


def write_markdown(case: ExportCase) -> str:
    """Write the requests as Markdown, with the reason for each answer."""
    lines: list[str] = []
    for view in case.views:
        key, last = case.key_name(view.key_id), view.decisions[-1]
        path = " ".join(view.path.replace("`", "'").split())
        lines += [f"## `{view.method} {path}`: {view.status}", ""]
        lines += [f"`{view.id}` at {view.at}, " + (f"key `{key}`" if key else "no key"), ""]
        lines += [f"> {_plain(last.reason)} ({last.clause})", ""]
        for title, shown in (("Request", view.request), ("Response", view.response)):
            if shown is not None:
                # Nothing in an indented block can end it.
                lines += [f"{title}:", "", indent(json.dumps(shown, indent=2), " " * 4), ""]
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Return the text with Markdown's special characters escaped."""
    return "".join(f"\\{one}" if one in "\\`*_[]<>#|!" else one for one in " ".join(text.split()))


ExportFormat = Literal["curl", "har", "markdown", "pytest", "scenario"]


class ExportBody(Body, example={"as": "curl"}):
    """Which requests of the journal to export, and as what; by default the newest ones."""

    format: Annotated[ExportFormat, Field(alias="as")]
    requests: Annotated[list[str], Field(min_length=1, max_length=500)] | None = None
    subject: str | None = None
    since: Instant | None = None


ENTRIES_MAX: Final = 500
"""How many requests to export; the newest ones, if more match."""

BODIES_BYTES_MAX: Final = 4 * 1_048_576
"""Size limit of the bodies of requests and answers; older requests are left out."""


class ExportedFile(View):
    """A file: its name, media type and content, and the number of requests in it."""

    name: str
    media_type: str
    content: str
    requests: int


@post(f"{WORLD}/export", "requests.export", refuses=(409,))
async def export_requests(request: ControlRequest, body: ExportBody) -> ExportedFile:
    """Export requests of the journal as curl, HAR, Markdown, a test or a scenario.

    Secrets are masked, as in the journal.
    """
    async with exclusive_world(request) as world:
        entries = await _choose_entries(world, body)
        if not entries:
            raise conflict("nothing_to_export", "no request of the journal matches")
        if body.format in ("pytest", "scenario"):
            entries = await add_needed(world, entries)
        views = await collect((view_entry(world, one) for one in entries), every=1)
        case = ExportCase(
            world=world,
            views=views,
            entries={one.id: one for one in entries},
            services=request.services,
            platform_url=request.platform_url,
        )
        count = len(views)
        if body.format == "scenario":
            content, count = await _write_scenario(case)
        elif body.format == "pytest":
            content = await write_proved_test(case)
        else:
            content = await run_in_thread(_WRITE[body.format], case)
    name, media_type = _FILES[body.format]
    return ExportedFile(name=name, media_type=media_type, content=content, requests=count)


async def _write_scenario(case: ExportCase) -> tuple[str, int]:
    """Write the requests as a scenario whose examples pass; return their number too.

    Raises ControlFault. Source: assumed D25-export.
    """
    document, count, left_out = build_scenario(case)
    # Examples run in a sandbox with its own event loop, while the platform continues.
    mistake = await run_in_thread(_find_mistake, case, document)
    if mistake is not None:
        raise conflict(
            "not_exportable",
            f"a scenario of these requests does not pass in a demo world: {mistake}",
            details="`pytest` exports them with the world's own fixture, switches and readings",
        )
    lines = [f"# Left out, as scenarios have no word for it: {one}" for one in left_out]
    return "\n".join([*lines, await run_in_thread(to_toml, document)]), count


def _find_mistake(case: ExportCase, document: dict[str, Any]) -> str | None:
    """Run the examples of a scenario, and return the first mistake."""
    try:
        found = case.services.prove(parse_scenario(dict(document)))
    except ScenarioError as error:
        return str(error)
    named = zip(document["example"], found.values(), strict=True)
    return next((f"{one['name']}: {mistakes[0]}" for one, mistakes in named if mistakes), None)


async def _choose_entries(world: World, body: ExportBody) -> list[Entry]:
    entries = world.journal.entries()
    if body.requests is not None:
        known = {one.id: one for one in entries}
        for id in body.requests:
            if id not in known:
                why = f"requests: the journal has no {id[:80]!r}, or no longer has it"
                raise invalid(why, nearest(id, known))
        entries = [one for one in entries if one.id in body.requests]
    if body.since is not None:
        entries = [one for one in entries if one.at >= body.since]
    if (subject := body.subject) is not None:
        entries = await select(entries, lambda one: is_about(world, one, subject))
    newest = entries[-ENTRIES_MAX:]
    each = (len(one.request or b"") + len(one.response or b"") for one in reversed(newest))
    count = sum(size <= BODIES_BYTES_MAX for size in accumulate(each))
    return newest[-max(count, 1) :]


_WRITE: Final = {"curl": write_curl, "har": write_har, "markdown": write_markdown}
_FILES: Final = {
    "curl": ("requests.sh", "text/x-shellscript"),
    "har": ("requests.har", "application/json"),
    "markdown": ("requests.md", "text/markdown"),
    "pytest": ("test_what_was_seen.py", "text/x-python"),
    "scenario": ("what-was-seen.toml", "application/toml"),
}
"""The name and the media type of the file for each format."""


# --- scenarios ------------------------------------------------------------------------------

_BEGIN: Final = ("sale", "auth")

_CHOSEN: Final = ("queue", "header", "scenario")
"""Sources of outcomes that the request itself does not show."""

_EXPECTED: Final = ("error", "status", "status_reason")
_AMOUNTS: Final = ("total_amount", "tip_amount", "surcharge_amount", "refunded")


def build_scenario(case: ExportCase) -> tuple[dict[str, Any], int, list[str]]:
    """Return the scenario, the number of its requests, and what was left out.

    Raises ControlFault if it is empty.
    """
    rules: list[dict[str, Any]] = []
    examples: list[dict[str, Any]] = []
    left_out, attempts, count = Counter[str](), Counter[str](), 0
    known: dict[str, dict[str, str]] = {"terminal": cast_names(case.world, "terminal"), "on": {}}
    at: datetime | None = None
    for view in case.views:
        if (send := _send(case, view, known)) is None:
            left_out[f"{view.method} {view.route or view.path[:80]}"] += 1
            continue
        came = parse_rfc3339(view.at)
        at = at or came
        passed = round((came - at).total_seconds())
        if passed > STEP_S:
            by = {"operation": "advance", "by": f"{passed}s"}
            examples.append({"send": by, "expect": {}})
            at = came
        count += 1
        operation, outcome = send["operation"], view.outcome
        name = f"{count} {operation.replace('_', ' ')}"
        is_down = view.decisions[-1].step == "gateway"
        attempts[operation] += is_down or outcome is not None
        # Something other than the request chose the outcome.
        is_chosen = outcome is not None and outcome.source in _CHOSEN
        if is_down or is_chosen or fault_of(view) is not None:
            then = {"fault": f"http_{view.status}"} if is_down else queue_again(view)
            when = {"operation": operation, "nth": attempts[operation]}
            rules.append({"name": name, "when": when, "then": then})
        examples.append({"name": name, "send": send, "expect": _expected(view)})
        if operation in _BEGIN:
            known["on"][str(fields_of(view.response).get("transaction_id"))] = name
    if not count:
        raise conflict(
            "nothing_to_export",
            "no request is a payment, or an action on one",
            details="a scenario can express only these; `pytest` exports any request",
        )
    about = f"{count} of the requests to the world {case.world.spec.id}."
    document = {"name": "What was seen", "about": about, "rule": rules, "example": examples}
    left = [f"{what} ({count})" for what, count in sorted(left_out.items())]
    return {name: one for name, one in document.items() if one}, count, left


def _send(
    case: ExportCase, view: JournalEntry, known: Mapping[str, Mapping[str, str]]
) -> dict[str, Any] | None:
    """Return the request as an example; None if scenarios have no words for it.

    `known` has the names of terminals, and of examples that created payments, by id.
    """
    body, row = view.request or {}, API.get(view.route or "")
    words = row.words if row is not None else ()
    if not words or words[0] not in {*Operation} or not isinstance(body, dict):
        return None
    if is_outcome_refused(view):
        return None
    # A payment says whether it is a sale or an authorization.
    operation = body["type"] if body.get("type") in words else words[0]
    key = case.key_of_cast(view)
    place, field = ("terminal", "terminal_id") if operation in _BEGIN else ("on", "transaction_id")
    # The path of an action names the payment, or else the body does.
    id = view.path.split("/")[3:4] or [str(body.get(field))]
    name = known[place].get(id[0])
    if key is None or name is None:
        return None
    if operation == "tip_adjust" and body.get("type") == "percentage":
        # Examples have no word for a tip in percent, but one for the amount that it came to.
        if (tip := fields_of(view.response).get("tip_amount")) is None:
            return None
        body = body | {"amount": tip}
    breakdown, card = (fields_of(body.get(one)) for one in ("breakdown", "card_reader_data"))
    asked = {
        "operation": operation,
        place: name,
        "key": key,
        "amount": body.get("amount"),
        "tip_amount": body.get("tip_amount") or breakdown.get("tipAmount"),
        "card": card.get("paymentCardData"),
        "event_id": body.get("event_id"),
        "confirm": body.get("confirm"),
    }
    return {name: value for name, value in asked.items() if value is not None}


def _expected(view: JournalEntry) -> dict[str, Any]:
    """Return the recorded result: status and error of the answer, and the payment's amounts."""
    if fault_of(view) in LOST:
        return {"http": 0}
    response = fields_of(view.response)
    told = {name: response[name] for name in _EXPECTED if isinstance(response.get(name), str)}
    amounts = {name: response[name] for name in _AMOUNTS if response.get(name)}
    return {"http": view.status, **told} | ({"fields": amounts} if amounts else {})
