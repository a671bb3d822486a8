"""How a world begins."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sandbox.store.fixture import Fixture
from sandbox.store.generated_data import GeneratedData
from sandbox.worlds.clock import ClockSetting

DEFAULT_WORLD: Final = "default"
"""The world that is there from the start, with fixed keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldSpec:
    """How a world begins, and the state to which a reset returns it.

    `keys_are_known`: its key material follows from seed and id alone, and from no secret.
    """

    id: str
    fixture: Fixture
    name: str = ""
    seed: int = 1
    clock: ClockSetting = field(default_factory=ClockSetting)
    switches: Mapping[str, Any] = field(default_factory=dict)
    generated_data: GeneratedData | None = None
    keys_are_known: bool = True
