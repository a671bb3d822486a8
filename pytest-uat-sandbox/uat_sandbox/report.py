"""The report of a failed test: its requests, the reasons for the answers, its webhooks."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from uat_sandbox.observations import Observed
from uat_sandbox.webhooks import ENDPOINT_ID

TITLE: Final = "sandbox journal"
CHARS_MAX: Final = 16_000
"""Size limit for the requests in a report; the newest ones stay."""

_BODY_CHARS_MAX: Final = 400
_MESSAGES_MAX: Final = 30
_TELLING: Final = (
    "transaction_id",
    "id",
    "terminal_id",
    "name",
    "status",
    "status_reason",
    "transaction_type",
    "total_amount",
    "batch_id",
    "processor_response_code",
)


def report(worlds: Iterable[Observed]) -> str:
    """Return everything that happened in the worlds, as text."""
    unkeyed: list[Mapping[str, Any]] = []
    lines: list[str] = []
    for world in worlds:
        lines += _of_world(world)
        # They belong to no world, so each one lists them.
        unkeyed += [one for one in world.unkeyed if one not in unkeyed]
    if unkeyed:
        lines += ["without a key of any world:"]
        lines += _newest([list(_request(entry)) for entry in unkeyed])
    return "\n".join(lines)


def _of_world(world: Observed) -> Iterator[str]:
    if world.problem is not None:
        yield f"{world.title}: cannot be read: {world.problem}"
        return
    yield world.title
    if not (world.journal or world.waiting):
        yield "  no request came with a key of this world"
    yield from _newest([list(_request(entry)) for entry in world.journal])
    for row in world.waiting:
        yield f"  {row['method']} {row['path']} -> no answer yet"
        yield f"    payment {row['subject']} waits for a card or its processor"
    # Messages from before the world's first request had no endpoint.
    sent = [message for message in world.messages if message["deliveries"]]
    if world.messages:
        yield f"  webhooks: {len(world.messages)} events, {len(sent)} of them for an endpoint"
        yield from _capped([_message(message) for message in sent], _MESSAGES_MAX)
    for id, problem in world.refused:
        yield f"    {id} arrived and was refused: {problem}"


def _newest(blocks: Sequence[list[str]]) -> Iterator[str]:
    """Yield the lines of the last blocks that fit into the limit."""
    room, first = CHARS_MAX, len(blocks)
    while first and (room := room - sum(map(len, blocks[first - 1]))) > 0:
        first -= 1
    if first:
        yield f"  ({first} earlier requests are not shown)"
    for block in blocks[first:]:
        yield from block


def _capped(lines: list[str], lines_max: int) -> Iterator[str]:
    if len(lines) > lines_max:
        yield f"    ({len(lines) - lines_max} earlier ones are not shown)"
    yield from lines[-lines_max:]


def _request(entry: Mapping[str, Any]) -> Iterator[str]:
    path = entry["path"] + (f"?{entry['query']}" if entry["query"] else "")
    status = entry["status"] or "no answer"
    about = ", ".join(filter(None, [entry["route"], entry["key"] and f"key {entry['key']}"]))
    yield f"  {entry['method']} {path} -> {status}" + (f"  ({about})" if about else "")
    for one in entry["decisions"]:
        clause = f"  [{one['clause']}]" if one["clause"] else ""
        yield f"    {one['step']}: {one['verdict']}, {one['reason']}{clause}"
    if (outcome := entry["outcome"]) is not None:
        rule = f" {outcome['rule']!r}" if outcome["rule"] not in ("", outcome["source"]) else ""
        yield f"    outcome {outcome['key']}, chosen by {outcome['source']}{rule}"
    yield from (f"    near miss: {one}" for one in entry["near_misses"])
    yield from (f"    note: {one}" for one in entry["notes"])
    for name in ("request", "response"):
        if entry[name] is not None:
            yield f"    {name} {_short(entry[name])}"


def _short(body: Any) -> str:
    """Return the body, or the most useful fields of a long one."""
    text = json.dumps(body, ensure_ascii=False)
    if len(text) <= _BODY_CHARS_MAX:
        return text
    if isinstance(body, dict) and (told := {name: body[name] for name in _TELLING if name in body}):
        short = json.dumps(told, ensure_ascii=False)
        return f"{short[:_BODY_CHARS_MAX]} and {len(body) - len(told)} more fields"
    return f"{text[:_BODY_CHARS_MAX]} ... {len(text) - _BODY_CHARS_MAX} more characters"


def _message(message: Mapping[str, Any]) -> str:
    status = message["body"].get("status")
    what = f"{message['event_type']}{f' ({status})' if status else ''} {message['id']}"
    fates = [_fate(delivery) for delivery in message["deliveries"]]
    return f"    {what}: {', '.join(fates)}"


def _fate(delivery: Mapping[str, Any]) -> str:
    to = "" if delivery["endpoint_id"] == ENDPOINT_ID else f" to {delivery['endpoint_id']}"
    attempts = delivery["attempts"]
    results = [one["error"] or f"answered {one['status_code']}" for one in attempts]
    times = f" after {len(attempts)} attempts" if len(attempts) > 1 else ""
    return f"{delivery['status']}{to}{times}" + (f" ({', then '.join(results)})" if results else "")
