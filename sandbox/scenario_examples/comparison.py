"""Comparing the result of an example with its expectations."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox.scenario_examples.receiver import Arrived
from sandbox.scenario_examples.requests import ExampleAnswer
from sandbox.scenarios.scenario import Expect, Received


@dataclass(frozen=True, slots=True)
class ExampleResult:
    """The result of an example: the answer, its payment, its events and webhooks.

    `received` are the attempts, each with the name of its event.
    """

    answer: ExampleAnswer
    shown: dict[str, Any]
    events: list[str]
    received: Sequence[tuple[str, Arrived]]


_APART = {"event", "fields", "null", "headers", "received"}


def compare(expect: Expect, came: ExampleResult) -> Iterator[str]:
    """Everything that is not as expected."""
    answer, shown, events = came.answer, came.shown, came.events
    chosen = dict(
        part.strip().partition("=")[::2]
        for part in f"outcome={answer.headers.get('x-sandbox-outcome', '')}".split(";")
    )
    found: dict[str, Any] = {
        "http": answer.status,
        "error": answer.body.get("error") if isinstance(answer.body, dict) else None,
        "status": shown.get("status"),
        "status_reason": shown.get("status_reason"),
        "events": events,
        "outcome": chosen.get("outcome"),
        "rule": chosen.get("rule"),
    }
    for name in sorted(expect.model_fields_set - _APART):
        wanted = getattr(expect, name)
        if wanted is not None and found[name] != wanted:
            yield f"{name}: expected {wanted!r}, came {found[name]!r}"
    if expect.event is not None and expect.event not in events:
        yield f"event: expected {expect.event!r}, came {events!r}"
    for name in expect.null:
        if shown.get(name) is not None:
            yield f"null: {name} is {shown[name]!r}"
    for name, wanted in expect.fields.items():
        value = shown.get(name, (shown.get("additional_details") or {}).get(name))
        yield from _unlike(f"fields.{name}", wanted, value)
    for name, wanted in expect.headers.items():
        yield from _unlike(f"headers.{name}", wanted, answer.headers.get(name.lower()))
    if expect.received is not None:
        yield from _misreceived(expect.received, came.received)


def _unlike(name: str, wanted: Any, value: Any) -> Iterator[str]:
    """The differences from the expected value; of an object only the named fields matter."""
    if isinstance(wanted, dict) and isinstance(value, dict):
        for key, inner in wanted.items():
            yield from _unlike(f"{name}.{key}", inner, value.get(key))
    elif value != wanted:
        yield f"{name}: expected {wanted!r}, came {value!r}"


def _misreceived(
    wanted: Sequence[Received], received: Sequence[tuple[str, Arrived]]
) -> Iterator[str]:
    """The differences in the received webhooks."""
    names, came = [one.event for one in wanted], [event for event, _ in received]
    if names != came:
        yield f"received: expected {names!r}, came {came!r}"
        return
    for number, (one, (event, arrived)) in enumerate(zip(wanted, received, strict=True), start=1):
        for field in ("status", "is_genuine", "is_answered"):
            expected, actual = getattr(one, field), getattr(arrived, field)
            if expected is not None and expected != actual:
                place = f"received: {number}, {event}, {field}"
                yield f"{place}: expected {expected!r}, came {actual!r}"
