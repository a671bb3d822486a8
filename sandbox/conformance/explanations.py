"""The readings of the spec that explain differences, and the report of a comparison."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sandbox.conformance.differences import Difference
from sandbox.conformance.har import Recording
from sandbox.conformance.replay import Casting, Play, Turn
from sandbox.domain.profile import Profile
from sandbox.domain.readings import READINGS, in_force
from sandbox.domain.switches import SWITCHES

SHAPES: Final = ("detail_and_error", "detail", "error_message_details")
"""The shapes of errors that a profile can name."""


@dataclass(frozen=True, slots=True)
class Explained:
    """A difference, with each reading that explains it, as `name=value`."""

    difference: Difference
    by: tuple[str, ...]


def turns(profile: Profile | None) -> list[Turn]:
    """Each other reading alone: of switches and readings, and of the profile if it is known."""
    chosen = in_force(profile.readings if profile else {}, {})
    found = [
        Turn(name, str(value).lower(), switches={name: value})
        for name, switch in SWITCHES.items()
        # Some switches are readings by another name.
        if switch.reading is None
        for value in switch.values
        if value != switch.default
    ]
    found += [
        Turn(f"readings.{id}", value, readings={id: value})
        for id, reading in READINGS.items()
        for value in reading.names
        # Without the profile, every value is tried.
        if value != chosen[id] or profile is None
    ]
    if profile is not None:
        found += [
            Turn("errors.shape", other, profile={"errors": {"shape": other}})
            for other in SHAPES
            if other != profile.errors.shape
        ]
    return found


def explained(
    found: Sequence[Difference],
    recording: Recording,
    casting: Casting,
    play: Play,
    tried: Sequence[Turn],
) -> list[Explained]:
    """Every difference with its explanations. Each reading is tried in a new world."""
    by: Mapping[Difference, list[str]] = {one: [] for one in found}
    before = {one.identity for one in found}
    for turn in tried if found else ():
        left = {one.identity for one in play.run(recording, casting, turn)}
        if any(kind == "status" for _, kind, _ in left - before):
            # An operation that was carried out is refused now, so later answers prove nothing.
            continue
        for one, names in by.items():
            # A status that now differs in its body is no match yet.
            if one.identity not in left and not _is_worse(one, left - before):
                names.append(f"{turn.name}={turn.value}")
    return [Explained(one, tuple(by[one])) for one in found]


def _is_worse(one: Difference, new: set[tuple[int, str, str]]) -> bool:
    """Whether it is gone only because something else of the answer differs now.

    That is the body behind a status, the status itself, or a list that holds the part.
    """
    here = [(kind, place) for number, kind, place in new if number == one.number]
    if one.kind == "status":
        return bool(here)
    return ("status", "status") in here or any(
        kind == "shape" and one.place.startswith((f"{place}.", f"{place}[")) for kind, place in here
    )


# --- the report: no secrets are in it


def document(
    recording: Recording, found: Sequence[Explained], scrub: Callable[[str], str]
) -> dict[str, Any]:
    """The result as JSON."""
    entries = {entry.number: entry for entry in recording.entries}
    return {
        "requests": len(recording.entries),
        "skipped": recording.skipped,
        "differences": [
            {
                "request": one.difference.number,
                "method": entries[one.difference.number].method,
                "path": scrub(entries[one.difference.number].path),
                "kind": one.difference.kind,
                "place": scrub(one.difference.place),
                "recorded": scrub(one.difference.recorded),
                "replayed": scrub(one.difference.replayed),
                "explained_by": list(one.by),
            }
            for one in found
        ],
    }


def lines(result: dict[str, Any]) -> Iterator[str]:
    """The same document in lines."""
    last = None
    for one in result["differences"]:
        if one["request"] != last:
            last = one["request"]
            yield f"{last}. {one['method']} {one['path']}"
        yield (
            f"   {one['kind']}: {one['place']}: recorded {one['recorded']}, "
            f"replayed {one['replayed']}"
        )
        if one["explained_by"]:
            yield f"      explained by {' or '.join(one['explained_by'])}"
    count, differing = result["requests"], len({d["request"] for d in result["differences"]})
    skipped = f"; {result['skipped']} others were not for the platform" if result["skipped"] else ""
    yield f"{count} requests replayed, {differing} answered differently{skipped}"
