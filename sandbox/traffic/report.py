"""The result of a comparison: lines for people, a document for programs. No secrets are in it."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sandbox.traffic.explaining import Explained
from sandbox.traffic.har import Recording


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
