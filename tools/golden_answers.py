"""The answer of every operation, recorded for the OpenAPI documents: `make golden`.

Each operation is asked with the example of the document in a fresh demo world. Keys and secrets of
the answers are replaced, and lists are cut short.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sandbox.control.docs import ANSWERS
from sandbox.control.routes import CONTROL
from sandbox.control.routing import ControlRow
from sandbox.platform.openapi import document
from sandbox.platform.openapi.examples import example_of, with_ids
from sandbox.platform.openapi.writer import DIALECT, VERSION
from sandbox.platform.operation import NOWHERE, Example
from sandbox.platform.routes import OPERATIONS
from tools.asking import WORLD, InProcess
from tools.golden_events import NOW

_REPLACED: Final = (
    (re.compile(r"svc_uat_[A-Za-z0-9]{12}_[A-Za-z0-9]{32}"), "svc_uat_ExampleOfKey_" + "x" * 32),
    (re.compile(r"svc_[A-Za-z0-9]{32}\b"), "svc_" + "x" * 32),
    (re.compile(r"whsec_[A-Za-z0-9+/=]+"), "whsec_ZXhhbXBsZS1vZi1hLXNlY3JldC1vZi1hLWhvb2s="),
    # How long it took differs from one run to the next.
    (re.compile(r'(?<="duration_ms": )[\d.]+'), "0.5"),
)
_EXAMPLES: Final = {row.name: row.body.EXAMPLE for row in CONTROL if row.body is not None}
_MADE: Final = {
    "endpoints": {"url": "http://127.0.0.1:9/hook"},
    "marks": _EXAMPLES["marks.add"],
    "receivers": _EXAMPLES["receivers.create"],
}
_TOKEN: Final = {
    "id": "tok_4f2a9c01b7d3",
    "team": "mobile",
    "name": "CI of the mobile team",
    "created_at": "2026-03-01T12:00:00.000Z",
    "expires_at": "2026-05-30T12:00:00.000Z",
    "expired": False,
}
_TAP: Final = {
    "transaction_id": NOWHERE,
    "operation": "sale",
    "amount": 2500,
    "currency": "USD",
    "terminal_id": NOWHERE,
    "since": NOW,
    "until": "2026-03-01T12:01:00Z",
}
_VERIFIED: Final = {
    "verdict": "genuine",
    "step": None,
    "says": "a receiver with this secret accepts it",
    "signed": "msg_1.1772366400.{}",
    "secrets": ["whsec_****b2s="],
    "expected": ["v1,fm9vZ2xlLmJhei5mb28uYmFyLnF1dXgueHl6"],
    "sent": ["v1,fm9vZ2xlLmJhei5mb28uYmFyLnF1dXgueHl6"],
    "age_s": 0,
}
_FIXED: Final = {
    "taps.list": {"taps": [_TAP], "total": 1},
    "taps.tap": {**_TAP, "status": "captured", "status_reason": "approved"},
    "messages.verify": _VERIFIED,
    "verify": _VERIFIED,
    "openapi.control": {"openapi": VERSION, "info": {"title": "Control API of uat-sandbox"}},
    "openapi.platform": {"openapi": VERSION, "info": {"title": "Card payment platform"}},
    "scenario.schema": {"$schema": DIALECT, "type": "object"},
    "tokens.create": {**_TOKEN, "token": "sbx_" + "x" * 32},
    "tokens.list": {"tokens": [_TOKEN], "total": 1},
    "snapshot.read": {"format": "uat-sandbox-snapshot"},
}
"""Answers of rows that wait or have the machine's time, and the beginnings of whole documents."""


def files() -> dict[Path, str]:
    """Return the text of each file with answers by path."""
    return {document.ANSWERS: _written(_of_platform()), ANSWERS: _written(_of_control())}


def _written(found: Mapping[str, Any]) -> str:
    text = json.dumps(found, indent=1, ensure_ascii=False)
    for pattern, example in _REPLACED:
        text = pattern.sub(example, text)
    return text + "\n"


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _short(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_short(one) for one in value[:2]]
    return value


def _of_platform() -> dict[str, Any]:
    return {
        row.name: _short(_answer(InProcess("demo", NOW), row.name))
        for row in OPERATIONS
        if row.response is not None and row.status != 204 and row.run is not None
        if example_of(row.name) is not None
    }


def _answer(asked: InProcess, name: str, example: Example | None = None) -> Any:
    row = next(row for row in OPERATIONS if row.name == name)
    example = example or example_of(name) or Example()
    id, body = example.id, example.body
    if example.first is not None:
        made = _answer(asked, example.first.operation, example.first)
        id = next(made[field] for field in ("transaction_id", "id", "terminal_id") if field in made)
        if example.takes:
            body = {**(body or {}), example.takes: id}
    path = re.sub(r"\{\w+\}", lambda _: str(with_ids(id, asked.ids)), row.path)
    return asked.ask(row.method, path, with_ids(body, asked.ids), by=example.by)


def _of_control() -> dict[str, Any]:
    found = {
        row.name: _short(_control_answer(row))
        for row in CONTROL
        if row.media_type == "application/json" and row.status != 204 and not row.is_stream
        if row.name not in {*_FIXED, "messages.wait"}
    }
    return {**found, **_FIXED, "messages.wait": found["messages.list"]["messages"][0]}


def _control_answer(row: ControlRow) -> Any:
    asked = InProcess("demo", NOW)
    body: Any = with_ids(_EXAMPLES.get(row.name), asked.ids)
    if row.is_raw:
        body = asked.ask("GET", f"{WORLD}/snapshot")
    id = _prepared(asked, row)
    path = row.path.replace("{w}", "default") + ("?q=merchant" if row.name == "find" else "")
    return asked.ask(row.method, re.sub(r"\{\w+\}", id, path), body)


def _prepared(asked: InProcess, row: ControlRow) -> str:
    """Create what the operation needs, and return the id for its path, if it has one."""
    match kind := row.name.partition(".")[0]:
        case "scenarios":
            return "approve_all"
        case "machines":
            return "batch"
        case "lens":
            return "merchant"
        case "scenario" if row.name in ("scenario.read", "scenario.prove", "scenario.play"):
            asked.ask("PUT", f"{WORLD}/scenario", {"name": "approve_all"})
        case "next" | "scenario":
            asked.ask("POST", f"{WORLD}/scenario/next", _EXAMPLES["next.add"])
        case "endpoints" | "marks" | "receivers":
            return str(asked.ask("POST", f"{WORLD}/{kind}", _MADE[kind])["id"])
        case "schedules":
            id = str(asked.cast.terminals["merchant"])
            asked.ask("PUT", f"{WORLD}/batch-schedules/{id}", _EXAMPLES["schedules.set"])
            return id
        case "messages" | "requests" | "batches" | "coverage" | "payments" | "overview":
            return _after_a_sale(asked, kind)
    return ""


def _after_a_sale(asked: InProcess, kind: str) -> str:
    """Make a sale, and return the id of the record that it creates."""
    sold = _answer(asked, "payments.create")
    if kind in ("messages", "requests"):
        return str(asked.ask("GET", f"{WORLD}/{kind}")[kind][-1]["id"])
    if kind == "batches":
        asked.ask("PUT", f"{WORLD}/switches", {"batch.settlement": "manual"})
        asked.ask("POST", f"/v1/batches/{sold['batch_id']}/close")
        return str(sold["batch_id"])
    if kind == "payments":
        # A refund waits for its answer.
        path = f"/v3/payments/{sold['transaction_id']}/refund"
        asked.ask("POST", path, {"amount": 500}, outcome="processor_timeout")
    return str(sold["transaction_id"])
