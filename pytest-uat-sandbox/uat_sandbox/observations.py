"""What happened in a world since the test began, as data for its report."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from uat_sandbox.world_control import request_number

if TYPE_CHECKING:
    from uat_sandbox.world import World


@dataclass(frozen=True, kw_only=True)
class Observed:
    """A world's requests, messages and refused webhooks, oldest first.

    `problem` says why they cannot be read. `waiting` are requests that were not answered yet, and
    `unkeyed` those without a key of any world.
    """

    title: str
    problem: str | None = None
    is_new: bool = True
    journal: list[Mapping[str, Any]] = field(default_factory=list)
    waiting: list[Mapping[str, Any]] = field(default_factory=list)
    unkeyed: list[Mapping[str, Any]] = field(default_factory=list)
    messages: list[Mapping[str, Any]] = field(default_factory=list)
    refused: list[tuple[str, str | None]] = field(default_factory=list)

    @property
    def has_news(self) -> bool:
        """Whether the test created this world, or anything happened in it during the test."""
        return bool(self.is_new or self.problem or self.journal or self.unkeyed or self.messages)


def observed(world: "World") -> Observed:
    """List what happened in the world since the test began."""
    before = world.before
    try:
        clock = world.clock
        journal = [one for one in world.journal if request_number(one) > before.requests]
        rows = world.control("GET", "/requests", query={"shape": "row"})["requests"]
        return Observed(
            title=f"{world.id}, seed {world.view['seed']}, clock {clock['mode']} at {clock['now']}",
            is_new=before.is_new,
            journal=list(journal),
            waiting=[row for row in rows if row["status"] is None],
            unkeyed=list(world.unkeyed),
            messages=list(world.messages[before.messages :]),
            refused=[
                (one.id, one.problem)
                for one in (world.webhooks.refused if world.receives_webhooks else [])
            ],
        )
    except Exception as error:
        # The reason why the test failed must not be lost.
        return Observed(title=world.id, problem=str(error), is_new=before.is_new)
