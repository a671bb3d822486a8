"""What a sandbox of its own has to answer before requests are handed over as a test."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from sandbox.control.export_case import IN_A_QUERY, ExportCase
from sandbox.control.export_pytest import (
    CHOSEN,
    IDS,
    UNKNOWN_KEY,
    asserted,
    beginning,
    changes_of_scenario,
    come_later,
    queued_again,
)
from sandbox.worlds.journal import EntryView


def world_of(case: ExportCase) -> dict[str, Any]:
    """The body that creates the world of the test."""
    how = beginning(case)
    return {**how, "clock": {"now": how["clock"], "mode": "frozen"}}


def cast_of(case: ExportCase) -> dict[str, dict[str, str]]:
    """The ids of the cast by their kinds and names."""
    cast = case.world.cast
    return {
        "terminals": dict(cast.terminals),
        "locations": dict(cast.locations),
        "accounts": dict(cast.accounts),
    }


def steps_of(case: ExportCase) -> Iterator[dict[str, Any]]:
    """The requests of the test, each with what comes before it and what was seen."""
    changes, later = changes_of_scenario(case), come_later(case)
    for view in case.views:
        before: list[tuple[str, str, Any]] = []
        if view["id"] in later:
            before.append(("POST", "/clock/advance", {"to": view["at"]}))
        if view["id"] in changes:
            scenario = changes[view["id"]]
            before.append(("DELETE" if scenario is None else "PUT", "/scenario", scenario))
        outcome, response = view["outcome"], view["response"]
        if outcome is not None and outcome["source"] in CHOSEN:
            before.append(("POST", "/scenario/next", queued_again(outcome["key"], response)))
        answer = response if isinstance(response, dict) else {}
        yield {
            "id": view["id"],
            "before": before,
            "method": view["method"],
            "path": view["path"],
            "query": quote(view["query"], safe=IN_A_QUERY),
            "key": _key(case, view),
            "body": view["request"],
            "status": view["status"],
            "asserted": asserted(answer),
            "made": {name: answer[name] for name in IDS if isinstance(answer.get(name), str)},
        }


def _key(case: ExportCase, view: EntryView) -> str | None:
    if view["key_id"] is not None:
        return case.key_name(view["key_id"])
    return None if view["key"] is None else UNKNOWN_KEY
