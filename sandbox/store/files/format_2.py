"""From format 1 to format 2: every piece of a world's state is a row of a table.

The document of the world held counts, payments in progress and messages for one endpoint; its
scenario and the time when keys were last used were tables of another kind.
"""

from collections.abc import MutableMapping
from datetime import datetime
from typing import Any

from sandbox.store.files.plain import Plain


def to_format_2(world: MutableMapping[str, list[Plain]]) -> None:
    """Bring a world of format 1 to format 2, in place."""
    if not (documents := world.get("world")):
        # It is refused when it is restored.
        return
    first, *others = documents
    old = dict(first.fields)
    scenarios = world.pop("scenario", [])
    world["counters"] = [Plain("counters", 0, _counters(old))]
    world["busy_payments"] = [
        Plain(id, number, {"transaction_id": id}) for number, id in enumerate(old.pop("busy", []))
    ]
    if only_for := old.pop("meant_for", {}):
        world["messages"] = [
            one._replace(fields={**one.fields, "only_for": only_for[one.id]})
            if one.id in only_for
            else one
            for one in world.get("messages", [])
        ]
    if "uses_of_keys" in world:
        world["key_usage"] = [
            one._replace(fields={"key_id": one.id, **one.fields})
            for one in world.pop("uses_of_keys")
        ]
    state = _state(old)
    if scenarios:
        state["scenario"] = scenarios[0].fields
    world["world"] = [first._replace(fields=state), *others]


def _counters(old: dict[str, Any]) -> dict[str, Any]:
    """The counts that the document of the world held, which it loses."""
    counters: dict[str, Any] = {
        name: old.pop(name) for name in ("drawn", "requests") if name in old
    }
    if (rules := old.pop("counts", None)) is not None:
        counters["rules"] = rules
    return counters


def _state(old: dict[str, Any]) -> dict[str, Any]:
    """The document of the world."""
    begins: dict[str, Any] = {
        name: old.pop(name) for name in ("name", "seed", "fixture", "keys") if name in old
    }
    before: dict[str, Any] = old.pop("begins", {})
    if clock := before.get("clock"):
        begins["clock"] = {name: value for name, value in clock.items() if value is not None}
    if (generated_data := before.get("invention")) is not None:
        begins["generated_data"] = generated_data
    clock = old.get("clock")
    if isinstance(clock, dict) and "wall" in clock:
        clock = dict(clock)
        clock["system_s"] = _unix_s(clock.pop("wall"))
        old["clock"] = clock
    return {**old, "begins": begins}


def _unix_s(instant: Any) -> Any:
    """The instant in Unix seconds; anything else as it is, to be refused."""
    try:
        return datetime.fromisoformat(instant).timestamp()
    except (TypeError, ValueError):
        return instant
