"""A message and its deliveries, after a command has sent it."""

import time
from collections.abc import Mapping
from typing import Any, Final

from sandbox.cli.control import Remote, world_path
from sandbox.cli.tables import Styled, say, styled

_LOOKS_FIRST_S: Final = 0.02
_LOOKS_AT_LEAST_EVERY_S: Final = 0.5


def when_tried(
    server: Remote, world_id: str, id: str, timeout_s: float, before: Mapping[str, Any]
) -> dict[str, Any]:
    """The message after every delivery was tried, or after a time limit.

    `before` has the attempts of those endpoints that are tried once more.
    """
    until = time.monotonic() + timeout_s
    wait_s = _LOOKS_FIRST_S
    while True:
        message: dict[str, Any] = server.read("GET", world_path(world_id, "messages", id))
        is_open = any(_is_open(one, before) for one in message["deliveries"])
        left_s = until - time.monotonic()
        if not is_open or left_s <= 0:
            return message
        time.sleep(min(wait_s, left_s))
        wait_s = min(2 * wait_s, _LOOKS_AT_LEAST_EVERY_S)


def _is_open(delivery: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """Whether its attempt did not end yet."""
    if delivery["endpoint_id"] in before:
        is_same: bool = delivery["attempts"] == before[delivery["endpoint_id"]]
        return is_same
    return delivery["status"] == "pending" and not delivery["attempts"]


def urls(server: Remote, world_id: str) -> dict[str, str]:
    """The URL of each endpoint of the world, by its id."""
    listed = server.read("GET", world_path(world_id, "endpoints"))
    return {one["id"]: one["url"] for one in listed["endpoints"]}


def show_message(message: dict[str, Any], to: Mapping[str, str]) -> None:
    """Print the id of the message, and the result for each endpoint."""
    say(message["id"])
    for delivery in message["deliveries"]:
        say("  ", *_result(delivery), f"  {to.get(delivery['endpoint_id'], '')}")
    if not message["deliveries"]:
        say(
            "sandbox: no endpoint of the world subscribes to this event; "
            "`sandbox listen URL` registers one",
            err=True,
        )


def _result(delivery: dict[str, Any]) -> tuple[Styled, str]:
    color = "green" if delivery["status"] == "delivered" else "red"
    status = styled(delivery["status"], fg=color)
    if not delivery["attempts"]:
        return status, ", not tried yet" if delivery["status"] == "pending" else ""
    last = delivery["attempts"][-1]
    took = f"{last['duration_ms']:.0f} ms"
    if last["error"] is None:
        return status, f", {last['status_code']} in {took}"
    due = delivery["next_attempt_at"]
    again = f", tried again at {due}" if due else ""
    return status, f": {last['error']}, in {took}{again}"
