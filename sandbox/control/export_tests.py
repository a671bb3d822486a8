"""Requests of the journal as a test in the words of the kit, which asserts what was seen.

The test begins a world like this one, with its seed, fixture, switches and readings, and its clock
at the time of the first request. It sends the same requests, with the outcomes that they had, and
waits for the webhooks that they had, with the same faults. Ids that an answer brought are taken
from the answers of the test.
"""

import asyncio
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pprint import pformat
from typing import Any, Final
from urllib.parse import quote

from sandbox.control.context import conflict
from sandbox.control.export_case import IN_A_QUERY, YOURS, ExportCase, ExportedWebhooks
from sandbox.control.pauses import collect
from sandbox.control.queries import cast_names
from sandbox.domain.instants import parse_rfc3339
from sandbox.domain.payments.outcomes import PARTIAL, TRANSPORT_FAULTS
from sandbox.domain.readings import DEFAULTS as READINGS_AS_USUAL
from sandbox.domain.switches import SWITCHES
from sandbox.worlds.journal import Entry, EntryView
from sandbox.worlds.world import World

_ASSERTED: Final = (
    *("error", "status", "status_reason", "type", "name", "is_active"),
    *("total_amount", "tip_amount", "surcharge_amount", "refunded", "reversed"),
    *("captured_amount", "refunded_amount", "transaction_count"),
)
"""The fields of an answer that say what happened, and are the same in another world."""

IDS: Final = ("transaction_id", "id", "terminal_id", "location_id", "batch_id", "event_id")
"""The fields of an answer with an id that later requests may name; the first is its own."""

CHOSEN: Final = ("queue", "header")
"""What chose an outcome for one attempt: the other world has to be told."""

UNKNOWN_KEY: Final = "svc_uat_unknown00000_" + "x" * 32
"""A key that no world has, in place of one that was sent and not known."""

_STEP_S: Final = 1.0
"""Requests that came within so long of each other come at one time of the test's clock."""

_WIDTH: Final = 92


class _Text(str):
    """Code, which is written as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


async def write_test(case: ExportCase) -> str:
    """Write the test. Raises ControlFault for a request by a key that only this world has."""
    lines = [
        f'"""What was seen in the world {case.world.spec.id}.',
        "",
        f"Written by uat-sandbox {case.version}.",
        "It needs pytest-uat-sandbox. Assert below what your software made of all this.",
        '"""',
        "",
        "import pytest",
        "",
    ]
    scenarios = _scenarios(case)
    for number, scenario in enumerate(scenarios):
        lines += [f"{_scenario_name(number)} = {_code(scenario)}", ""]
    steps = await collect(_test_lines(case, scenarios), every=1)
    if any("your_record(" in step for step in steps):
        lines += [*YOURS.splitlines(), ""]
    lines += ["", *_marker(case), "def test_what_was_seen(sandbox):"]
    return "\n".join([*lines, *steps]).rstrip() + "\n"


def _scenarios(case: ExportCase) -> list[Mapping[str, Any]]:
    """The scenarios under which the requests came, the first one first."""
    found: list[Mapping[str, Any]] = []
    for scenario in case.scenarios.values():
        if scenario is not None and scenario not in found:
            found.append(scenario)
    return found


def _scenario_name(number: int) -> str:
    return f"SCENARIO_{number + 1}" if number else "SCENARIO"


def _marker(case: ExportCase) -> Iterator[str]:
    yield "@pytest.mark.sandbox("
    for name, value in world_options(case).items():
        yield f"    {name}={_code(value)},"
    yield ")"


def world_options(case: ExportCase) -> dict[str, Any]:
    """How a world begins in which all this can come again."""
    world = case.world
    begins = world.state.begins
    how: dict[str, Any] = {"seed": begins.seed, "fixture": begins.fixture}
    how["clock"] = case.views[0]["at"]
    # Some switches are readings: their values stand there.
    usual = {name: one.default for name, one in SWITCHES.items() if one.reading is None}
    own = {name: value for name, value in world.switches.items() if name in usual}
    switches, readings = _changed(own, usual), _changed(world.readings, READINGS_AS_USUAL)
    if switches:
        how["switches"] = switches
    if readings:
        how["readings"] = readings
    return how


def _changed(now: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in now.items() if usual.get(name) != value}


def _code(value: Any) -> str:
    return pformat(_plain_value(value), width=_WIDTH, sort_dicts=False)


def _plain_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain_value(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_value(one) for one in value]
    return value


# --- which requests ---------------------------------------------------------------------------


async def add_needed(world: World, entries: list[Entry]) -> list[Entry]:
    """These requests, and before them those that made the records that they name."""
    everything = world.journal.entries()
    makers: dict[str, Entry] = {}
    for entry in reversed(everything):
        makers |= dict.fromkeys(_made(entry), entry)
        await asyncio.sleep(0)
    wanted = {entry.id: entry for entry in entries}
    left = list(entries)
    while left:
        entry = left.pop()
        for id in _ID.findall(f"{entry.path} {_decode(entry.request)}"):
            maker = makers.get(id)
            if maker is not None and maker.id not in wanted and maker.id < entry.id:
                wanted[maker.id] = maker
                left.append(maker)
    return [entry for entry in everything if entry.id in wanted]


def _made(entry: Entry) -> Iterator[str]:
    """The id of the record that a request made, and of the batch that it opened."""
    if entry.method == "POST" and entry.response is not None and entry.status < _REFUSED_FROM:
        yield from _MADE.findall(_decode(entry.response))


def _decode(body: bytes | None) -> str:
    return (body or b"").decode(errors="replace")


_ID: Final = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MADE: Final = re.compile(f'"(?:transaction_id|id|batch_id)":"({_ID.pattern})"')
_REFUSED_FROM: Final = 400


# --- requests ---------------------------------------------------------------------------------


class _Known:
    """The ids that the test can name, each with the code that names it."""

    def __init__(self, case: ExportCase) -> None:
        cast = case.world.cast
        self._code = {
            id: _Text(f'sandbox.{word}("{name}")')
            for word, names in (
                ("terminal", cast.terminals),
                ("location", cast.locations),
                ("account", cast.accounts),
            )
            for id, name in cast_names(names).items()
        }

    def learn(self, number: int, response: Any) -> None:
        if not isinstance(response, dict):
            return
        for field in IDS:
            id = response.get(field)
            if isinstance(id, str) and id not in self._code:
                self._code[id] = _Text(f'seen_{number}["{field}"]')

    def code(self, id: str) -> str | None:
        """The code that names an id, or None."""
        return self._code.get(id)

    def of(self, value: Any) -> Any:
        """The value with the code in place of each id."""
        if isinstance(value, dict):
            return {name: self.of(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self.of(one) for one in value]
        return self._code.get(value, value) if isinstance(value, str) else value

    def path(self, path: str, query: str) -> str:
        """The code for a path with its query."""
        rest = f"?{query}" if query else ""
        parts = path.split("/")
        if not any(part in self._code for part in parts):
            return repr(path + rest)
        # What names an id has double quotes at most, so the whole stands in single quotes.
        braced = (
            f"{{{self._code[one]}}}" if one in self._code else _in_quotes(one) for one in parts
        )
        return f"f'{'/'.join(braced)}{_in_quotes(rest)}'"


def _in_quotes(text: str) -> str:
    """The text as it stands in an f-string in single quotes."""
    return text.translate(_BRACES).encode("unicode_escape").decode()


_BRACES: Final = str.maketrans({"{": "{{", "}": "}}", "'": "%27", "\\": "%5C"})


def scenario_changes(case: ExportCase) -> dict[str, Mapping[str, Any] | None]:
    """The scenarios that began, or none that went on, right before a request, by its id."""
    found: dict[str, Mapping[str, Any] | None] = {}
    runs: Mapping[str, Any] | None = None
    for view in case.views:
        scenario = case.scenarios[view["id"]]
        # One that is started again counts anew, and is another object.
        if scenario is not runs:
            found[view["id"]] = runs = scenario
    return found


def _test_lines(case: ExportCase, scenarios: list[Mapping[str, Any]]) -> Iterator[str]:
    """The lines of each request, and of the webhooks that came of it."""
    known = _Known(case)
    webhooks = ExportedWebhooks(case.world)
    changes, later = scenario_changes(case), later_requests(case)
    for number, view in enumerate(case.views, start=1):
        lines: list[str] = []
        if view["id"] in later:
            lines.append(f"    sandbox.advance(to={view['at']!r})")
        if view["id"] in changes:
            scenario = changes[view["id"]]
            name = None if scenario is None else _scenario_name(scenarios.index(scenario))
            lines += [f"    sandbox.scenario({name})", ""]
        lines += [*webhooks.faults(view), *_request_lines(case, known, number, view)]
        known.learn(number, view["response"])
        lines += [*webhooks.heard(view, known.code, _client(case, view)), ""]
        yield "\n".join(lines)


def later_requests(case: ExportCase) -> set[str]:
    """The requests to whose time the clock has to be advanced."""
    found: set[str] = set()
    at: datetime | None = None
    for view in case.views:
        came = parse_rfc3339(view["at"])
        if at is not None and (came - at).total_seconds() > _STEP_S:
            found.add(view["id"])
        if at is None or view["id"] in found:
            at = came
    return found


def _request_lines(case: ExportCase, known: _Known, number: int, view: EntryView) -> Iterator[str]:
    outcome = view["outcome"]
    if outcome is not None and outcome["source"] in CHOSEN:
        chosen = queue_again(outcome["key"], view["response"])
        first = repr(chosen.pop("outcome")) if "outcome" in chosen else None
        named = [f"{name}={value!r}" for name, value in chosen.items()]
        yield f"    sandbox.next({', '.join([first, *named] if first else named)})"
    asked = [repr(view["method"]), known.path(view["path"], view["query"])]
    if view["request"] is not None:
        sent = pformat(known.of(view["request"]), width=_WIDTH - 14, sort_dicts=False)
        asked.append(("content=" if isinstance(view["request"], str) else "json=") + sent)
    yield f"    # {view['id']}"
    for place, part in enumerate(
        [f"answer_{number} = sandbox.client({_client(case, view)}).request(", *asked, ")"]
    ):
        indent = "    " if place in (0, len(asked) + 1) else "        "
        comma = "," if place not in (0, len(asked) + 1) else ""
        yield "\n".join(indent + line for line in part.splitlines()) + comma
    yield f"    assert answer_{number}.status_code == {view['status']}"
    yield from _assertions(number, view)


def queue_again(key: str, response: Any) -> dict[str, Any]:
    """What to queue so that the outcome is chosen again."""
    if key in TRANSPORT_FAULTS:
        return {"fault": key}
    if key == PARTIAL.key and isinstance(response, dict):
        told = response.get("additional_details") or {}
        approved = told.get("captured_amount") or told.get("authorized_amount")
        return {"outcome": key, "approved_amount": approved}
    return {"outcome": key}


def _client(case: ExportCase, view: EntryView) -> str:
    key_id = view["key_id"]
    if key_id is not None:
        name = case.key_name(key_id)
        if name == key_id:
            raise conflict(
                "not_exportable",
                f"{view['id']} came with a key that only this world has, {key_id}",
                details="a test can use the keys of the cast; leave this request out",
            )
        return repr(name)
    if view["key"] is None:
        return "None"
    return f"plaintext={UNKNOWN_KEY!r}"


def _assertions(number: int, view: EntryView) -> Iterator[str]:
    response = view["response"]
    if not isinstance(response, dict):
        return
    yield f"    seen_{number} = answer_{number}.json()"
    seen = asserted_fields(response)
    if seen:
        yield f"    assert seen_{number} | {{"
        yield from (f"        {name!r}: {value!r}," for name, value in seen.items())
        yield f"    }} == seen_{number}"


def asserted_fields(response: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an answer that a test asserts."""
    return {name: response[name] for name in _ASSERTED if name in response}


def world_body(case: ExportCase) -> dict[str, Any]:
    """The body that creates the world of the test."""
    how = world_options(case)
    return {**how, "clock": {"now": how["clock"], "mode": "frozen"}}


def cast_ids(case: ExportCase) -> dict[str, dict[str, str]]:
    """The ids of the cast by their kinds and names."""
    cast = case.world.cast
    return {
        "terminals": dict(cast.terminals),
        "locations": dict(cast.locations),
        "accounts": dict(cast.accounts),
    }


def proof_steps(case: ExportCase) -> Iterator[dict[str, Any]]:
    """The requests of the test, each with what comes before it and what was seen."""
    changes, later = scenario_changes(case), later_requests(case)
    for view in case.views:
        before: list[tuple[str, str, Any]] = []
        if view["id"] in later:
            before.append(("POST", "/clock/advance", {"to": view["at"]}))
        if view["id"] in changes:
            scenario = changes[view["id"]]
            before.append(("DELETE" if scenario is None else "PUT", "/scenario", scenario))
        outcome, response = view["outcome"], view["response"]
        if outcome is not None and outcome["source"] in CHOSEN:
            before.append(("POST", "/scenario/next", queue_again(outcome["key"], response)))
        answer = response if isinstance(response, dict) else {}
        yield {
            "id": view["id"],
            "before": before,
            "method": view["method"],
            "path": view["path"],
            "query": quote(view["query"], safe=IN_A_QUERY),
            "key": _key_of_step(case, view),
            "body": view["request"],
            "status": view["status"],
            "asserted": asserted_fields(answer),
            "made": {name: answer[name] for name in IDS if isinstance(answer.get(name), str)},
        }


def _key_of_step(case: ExportCase, view: EntryView) -> str | None:
    if view["key_id"] is not None:
        return case.key_name(view["key_id"])
    return None if view["key"] is None else UNKNOWN_KEY
