"""Export requests of the journal as a test for the kit, which asserts what was recorded.

The test begins a world like this one, with its seed and fixture, and with the switches, readings
and time of the first request. It sends the same requests, with the same outcomes, and waits for the
same webhooks, with the same faults. Ids from recorded answers are taken from the answers of the
test. The test has one receiver, which works. So a webhook to several endpoints is one here, and
only its first attempt counts.
"""

import asyncio
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pprint import pformat
from textwrap import indent
from typing import Any, Final
from urllib.parse import quote

from pydantic_core import to_jsonable_python

from sandbox import library
from sandbox.control import export_checks as checks
from sandbox.control.context import Services, cast_names, conflict
from sandbox.control.export_checks import fault_of, is_spared
from sandbox.control.journal import JournalEntry, unusual_headers
from sandbox.domain.directory import MASKED_PIN
from sandbox.domain.instants import parse_rfc3339
from sandbox.domain.json_text import fields_of, map_texts
from sandbox.domain.readings import DEFAULTS as READINGS_AS_USUAL
from sandbox.domain.readings import in_force
from sandbox.domain.switches import defaults as usual_switches
from sandbox.domain.transport_faults import LOST, NEED_BODY
from sandbox.worlds.background import collect
from sandbox.worlds.journal import REFUSED_FROM, Entry
from sandbox.worlds.world import World

IN_A_QUERY: Final = "%=&+,:;/@!$'()*?~-._"
"""Characters of a query in the journal that are not encoded, or already are."""

ADVANCE: Final = "/clock/advance"
STEP_S: Final = 1.0
"""Requests within this time of each other get the same time on the exported clock."""


@dataclass(frozen=True)
class ExportCase:
    """The requests to export, oldest first. `entries` are those of the journal, by id.

    `platform_url` is where commands send them.
    """

    world: World
    views: list[JournalEntry]
    entries: Mapping[str, Entry]
    services: Services
    platform_url: str

    def key_name(self, key_id: str | None) -> str | None:
        """Return the name of the key in the cast, or its id."""
        return None if key_id is None else cast_names(self.world, "key").get(key_id, key_id)

    def key_of_cast(self, view: JournalEntry) -> str | None:
        """Return the name in the cast of the key of a request; None without a known key.

        Raises ControlFault for a key that only this world has.
        """
        name = self.key_name(view.key_id)
        if name is not None and name == view.key_id:
            raise conflict(
                "not_exportable",
                f"{view.id} came with a key that only this world has, {name}",
                details="tests and examples use the keys of the cast; leave this request out",
            )
        return name

    def address(self, view: JournalEntry) -> str:
        """Return the URL of a request."""
        query = quote(view.query, safe=IN_A_QUERY)
        url = self.platform_url + quote(view.path)
        return f"{url}?{query}" if query else url


_Settings = Mapping[str, Mapping[str, Any]]
"""The switches and the readings of a world, by their path in the control API."""

_ASSERTED: Final = (
    *("error", "status", "status_reason", "type", "name", "is_active"),
    *("total_amount", "tip_amount", "surcharge_amount", "refunded", "reversed"),
    *("captured_amount", "refunded_amount", "transaction_count"),
)
"""Fields of an answer that say what happened, and are the same in another world."""

_IDS: Final = ("transaction_id", "id", "terminal_id", "location_id", "batch_id", "event_id")
"""Fields of an answer with an id that later requests may name."""

_ANY_PIN: Final = "246810"
"""A PIN in place of one that was sent, which the journal masks."""

UNKNOWN_KEY: Final = "svc_uat_unknown00000_" + "x" * 32
"""A key that no world has, instead of an unknown key that was sent."""

_WIDTH: Final = 92


class _Text(str):
    """A piece of code, which is not quoted."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


async def write_proved_test(case: ExportCase) -> str:
    """Write a test. Raises ControlFault if it fails in a new world.

    With a custom fixture, which only this server knows, the test is not tried. Source: assumed
    D25-export.
    """
    case = replace(case, views=checks.put_looks_after(case.world, case.views))
    steps = list(_build_steps(case))
    content, mistake = await _write_test(case, steps), None
    if case.world.state.begins.fixture in library.fixture_names():
        kinds = ("account", "terminal", "location")
        ids = {f"{kind}s": case.world.cast.ids_of(kind) for kind in kinds}
        # It runs in a sandbox with its own event loop, while the platform continues.
        repeat = case.services.repeat
        mistake = await asyncio.to_thread(repeat, _world_options(case), ids, steps)
    if mistake is not None:
        raise conflict(
            "not_exportable",
            f"a test of these requests does not pass in a world of its own: {mistake}",
            details="export them with the requests that came before them, on which they depend",
        )
    return content


async def _write_test(case: ExportCase, steps: list[dict[str, Any]]) -> str:
    """Write the test of these steps."""
    lines = [
        f'"""What was seen in the world {case.world.spec.id}.',
        "",
        f"Written by uat-sandbox {case.services.version}.",
        "It needs pytest-uat-sandbox. Assert below what your software made of all this.",
        '"""',
        "",
        *(["import httpx2"] if any(step["status"] == 0 for step in steps) else []),
        "import pytest",
        "",
    ]
    scenarios: list[Mapping[str, Any]] = []
    for one in case.entries.values():
        if one.scenario is not None and one.scenario not in scenarios:
            scenarios.append(one.scenario)
    for number, scenario in enumerate(scenarios):
        lines += [f"{_scenario_name(number)} = {_code(scenario)}", ""]
    texts = await collect(_test_lines(case, steps, scenarios), every=1)
    for yours in (checks.YOUR_RECORD, checks.YOUR_RETRY, checks.YOUR_WAIT):
        called = yours.partition("(")[0].removeprefix("\ndef ") + "("
        if any(called in text for text in texts):
            lines += [*yours.splitlines(), ""]
    options = [f"    {name}={_code(value)}," for name, value in _world_options(case).items()]
    lines += ["", "@pytest.mark.sandbox(", *options, ")", "def test_what_was_seen(sandbox):"]
    return "\n".join([*lines, *texts]).rstrip() + "\n"


def _scenario_name(number: int) -> str:
    return f"SCENARIO_{number + 1}" if number else "SCENARIO"


def _world_options(case: ExportCase) -> dict[str, Any]:
    """Return the options of a world in which this can happen again."""
    begins, first = case.world.state.begins, case.views[0]
    how = {"seed": begins.seed, "fixture": begins.fixture, "clock": first.at}
    usual = {"/switches": usual_switches(), "/readings": READINGS_AS_USUAL}
    for _, path, own in _changes(usual, _settings_of(case, first)):
        how[path.removeprefix("/")] = own
    return how


def _settings_of(case: ExportCase, view: JournalEntry) -> _Settings:
    """Return the switches and the readings of the world at a request."""
    entry = case.entries[view.id]
    return {
        "/switches": usual_switches() | dict(entry.switches),
        "/readings": in_force(case.world.profile.readings, entry.readings),
    }


def _changes(before: _Settings, after: _Settings) -> Iterator[tuple[str, str, Any]]:
    """Yield the requests of the control API that lead from one to the other."""
    for path, now in after.items():
        if own := {name: one for name, one in now.items() if before[path][name] != one}:
            yield "PUT", path, own


def _code(value: Any) -> str:
    return pformat(to_jsonable_python(value), width=_WIDTH, sort_dicts=False)


# --- which requests ---------------------------------------------------------------------------


async def add_needed(world: World, entries: list[Entry]) -> list[Entry]:
    """Return these requests, preceded by those that created the records they name."""
    everything = world.journal.entries()
    makers: dict[bytes, Entry] = {}
    for entry in reversed(everything):
        if entry.method == "POST" and entry.status < REFUSED_FROM:
            makers |= dict.fromkeys(_MADE.findall(entry.response or b""), entry)
        await asyncio.sleep(0)
    wanted, left = {entry.id for entry in entries}, list(entries)
    while left:
        entry = left.pop()
        path, body = entry.path.encode(errors="replace"), entry.request or b""
        for id in (*_ID.findall(path), *_ID.findall(body)):
            maker = makers.get(id, entry)
            if maker.id not in wanted and maker.id < entry.id:
                wanted.add(maker.id)
                left.append(maker)
    return [entry for entry in everything if entry.id in wanted]


_ID: Final = re.compile(b"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ID_IN_PATH: Final = re.compile(f"({_ID.pattern.decode()})")
_MADE: Final = re.compile(b'"(?:transaction_id|id|batch_id)":"(%b)"' % _ID.pattern)
"""The ids of the record that a request created, and of the batch that it opened."""


# --- requests ---------------------------------------------------------------------------------


def _build_steps(case: ExportCase) -> Iterator[dict[str, Any]]:
    """Yield the requests of the test, with what comes before each and what was recorded.

    Raises ControlFault for a request with a key that only this world has.
    """
    at, runs, is_down_until, newest = parse_rfc3339(case.views[0].at), None, None, ""
    settings = _settings_of(case, case.views[0])
    for view in case.views:
        entry, former, settings = case.entries[view.id], settings, _settings_of(case, view)
        before = list(_changes(former, settings))
        came, scenario = parse_rfc3339(view.at), entry.scenario
        if (came - at).total_seconds() > STEP_S:
            before.append(("POST", ADVANCE, {"to": view.at}))
            at = came
        if (until := entry.maintenance_until) != is_down_until:
            if until is None:
                before.append(("DELETE", "/maintenance", None))
            elif until > at:
                lasts = f"PT{(until - at).total_seconds():.3f}S"
                before.append(("PUT", "/maintenance", {"lasts": lasts}))
            is_down_until = until
        # A scenario that was started again counts from zero, and is another object.
        if scenario is not runs:
            before.append(("DELETE" if scenario is None else "PUT", "/scenario", scenario))
            runs = scenario
        body, response = view.request, view.response
        if view.status < REFUSED_FROM and fields_of(body).get("pin") == MASKED_PIN:
            body = body | {"pin": _ANY_PIN}
        if is_found := isinstance(response, list) and len(response) == 1:
            response = response[0]
        fault = fault_of(view)
        # Without a scenario, the fault of a request came from its header or the queue.
        is_queued = fault is not None and scenario is None
        is_chosen = view.outcome is not None and view.outcome.source in checks.CHOSEN
        headers = unusual_headers(view.headers)
        if (is_chosen or is_queued) and not is_spared(view):
            before.append(("POST", "/scenario/next", checks.queue_again(view)))
            headers.pop(checks.OUTCOME_HEADER, None)
        is_whole = isinstance(response, dict) and fault not in (*LOST, *NEED_BODY)
        answer = response if is_whole else {}
        asserted = _ASSERTED if view.id > newest or not is_spared(view) else ()
        newest = max(view.id, newest)
        yield {
            "id": view.id,
            "before": before,
            "method": view.method,
            "path": view.path,
            "query": quote(view.query, safe=IN_A_QUERY),
            "key": case.key_of_cast(view) or (None if view.key is None else UNKNOWN_KEY),
            "body": body,
            "headers": headers,
            "status": 0 if fault in LOST else view.status,
            "is_whole": is_whole,
            "is_found": is_found,
            "asserted": {name: answer[name] for name in asserted if name in answer},
            "made": {name: answer[name] for name in _IDS if isinstance(answer.get(name), str)},
        }


def _test_lines(
    case: ExportCase, steps: list[dict[str, Any]], scenarios: list[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield the lines of each request and its webhooks."""
    world = case.world
    # The ids that the test can name, with the code for each.
    known: dict[str, str] = {
        id: _Text(f'sandbox.{kind}("{name}")')
        for kind in ("terminal", "location", "account")
        for id, name in cast_names(world, kind).items()
    }
    retries = checks.find_retries(world, case.views)
    waits = checks.find_waits(case.views, retries)
    has_waited, repeated = False, set[str]()
    for number, (view, step) in enumerate(zip(case.views, steps, strict=True), start=1):
        payment, through = step["made"].get("transaction_id"), ""
        if view.id in waits:
            through = f"your_retry_after(sandbox, answer_{waits[view.id]}, lambda: "
        elif view.id in retries:
            repeated.add(payment)
            through = "your_retry(sandbox, lambda: " if step["status"] else ""
        elif payment in repeated:
            # The answer depends on what your software does.
            step = {**step, "asserted": {}}
        lines: list[str] = []
        for _, path, body in step["before"]:
            if path != ADVANCE:
                lines += _preparation(path, body, scenarios)
            elif view.id not in waits:
                lines.append(checks.advance_line(body["to"], has_waited=has_waited))
        client = repr(step["key"]) if step["key"] != UNKNOWN_KEY else f"plaintext={UNKNOWN_KEY!r}"
        lines += [*checks.fault_lines(world, view), f"    # {view.id}"]
        lines += _request_lines(known, view, step, f"{through}sandbox.client({client})", number)
        seen = list(_answer_lines(number, view, step))
        for field, id in step["made"].items():
            known.setdefault(id, _Text(f'seen_{number}["{field}"]'))
        seen += [*checks.wait_lines(world, view, known, client), ""]
        if through and view.id in retries:
            lines.append(f"    if answer_{number} is not None:")
            seen = [indent(line, "    ") for line in seen]
        has_waited = has_waited or view.id in waits
        yield "\n".join([*lines, *seen])
    yield "\n".join(checks.was_sent_once(retries, case.views, has_waited=has_waited))


def _preparation(path: str, body: Any, scenarios: list[Mapping[str, Any]]) -> list[str]:
    """Return the lines that carry out an action of the control API."""
    if path == "/maintenance":
        return [f"    sandbox.maintenance({body and body['lasts']!r})"]
    if path == "/scenario":
        name = None if body is None else _scenario_name(scenarios.index(body))
        return [f"    sandbox.scenario({name})", ""]
    if path in ("/switches", "/readings"):
        return [f"    sandbox.{path.removeprefix('/')}({body!r})"]
    outcome = [repr(body["outcome"])] if "outcome" in body else []
    named = [f"{name}={value!r}" for name, value in body.items() if name != "outcome"]
    return [f"    sandbox.next({', '.join([*outcome, *named])})"]


def _request_lines(
    known: dict[str, str], view: JournalEntry, step: dict[str, Any], client: str, number: int
) -> Iterator[str]:
    """Yield the lines of a request, which may be passed to one of your functions."""
    query = f"?{step['query']}" if step["query"] else ""
    parts = [*_ID_IN_PATH.split(quote(view.path)), query]
    asked = [repr(view.method), " + ".join(known.get(one, repr(one)) for one in parts if one)]
    if (body := step["body"]) is not None:
        named = map_texts(body, lambda text: known.get(text, text))
        sent = pformat(named, width=_WIDTH - 14, sort_dicts=False)
        asked.append(("content=" if isinstance(body, str) else "json=") + sent)
    if step["headers"]:
        asked.append(f"headers={step['headers']!r}")
    margin, call = "    ", f"answer_{number} = {client}"
    if step["status"] == 0:
        yield "    with pytest.raises(httpx2.TransportError):"
        margin, call = "        ", client
    yield f"{margin}{call}.request("
    for part in asked:
        yield indent(part, f"{margin}    ") + ","
    yield f"{margin})" + ")" * client.startswith("your_")


def _answer_lines(number: int, view: JournalEntry, step: dict[str, Any]) -> Iterator[str]:
    """Yield the lines that assert the answer."""
    if step["status"] == 0:
        return
    yield f"    assert answer_{number}.status_code == {view.status}"
    if step["is_whole"]:
        found = "[0]" if step["is_found"] else ""
        yield f"    seen_{number} = answer_{number}.json(){found}"
        if step["asserted"]:
            yield f"    assert seen_{number} | {{"
            yield from (f"        {name!r}: {value!r}," for name, value in step["asserted"].items())
            yield f"    }} == seen_{number}"
