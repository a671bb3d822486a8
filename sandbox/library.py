"""The library: fixtures and scenarios that are bundled with the sandbox."""

from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from sandbox.domain.text import did_you_mean, nearest, suggest_words
from sandbox.scenarios.parser import ScenarioError, read_scenario
from sandbox.scenarios.scenario import Scenario
from sandbox.store.files.port import FILE, FIXTURE, WORLD, fields_of
from sandbox.store.fixture import Fixture, FixtureError, fixture_with, read_fixture
from sandbox.store.world_documents import SavedWorld, only, place
from sandbox.store.world_state import DEFAULT_SEED, WorldState
from sandbox.worlds.spec import WorldSpec

_PACKAGE: Final = Path(__file__).parent


def folder(name: str) -> Path:
    """Return a folder of the library: in the installed package, or beside it in a checkout."""
    installed = _PACKAGE / "_library" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name


def fixture_names() -> list[str]:
    """Return the names of all bundled fixtures."""
    return sorted(path.stem for path in folder("fixtures").glob("*.json"))


@cache
def fixture(name: str) -> Fixture:
    """Return the bundled fixture with this name, read once. Raises FixtureError."""
    if name not in fixture_names():
        raise FixtureError(f"there is no fixture {name!r}; there are: {', '.join(fixture_names())}")
    read = read_fixture(folder("fixtures") / f"{name}.json")
    # State files need not contain bundled fixtures.
    return _rewind(replace(read, document=None))


@cache
def scenarios() -> dict[str, Scenario]:
    """Return the bundled scenarios by the name of their file. Raises ScenarioError."""
    paths = sorted(folder("scenarios").glob("*.toml"))
    return {path.stem: read_scenario(path) for path in paths}


def _stem(name: str, stems: Collection[str]) -> str:
    """Return the name of the library file with this name or title. Raises ScenarioError.

    Titles are in the files, which are only read if no name matches. Source: assumed D24.
    """
    if name in stems:
        return name
    titles = {one.name: stem for stem, one in scenarios().items()}
    if name in titles:
        return titles[name]
    known = [*scenarios(), *titles]
    hint = did_you_mean(name, known) or suggest_words(name, scenarios())
    message = f"there is no scenario {name[:80]!r}{hint}"
    raise ScenarioError(message, nearest(name, known))


def scenario(name: str) -> Scenario:
    """Return the bundled scenario with this name or title. Raises ScenarioError."""
    known = scenarios()
    return known[_stem(name, known)]


def scenario_file(name_or_path: str) -> Path:
    """Return the file of a scenario, by its name or title in the library, or by its path.

    Raises ScenarioError for an unknown name; it does not check whether a path leads to a file.
    """
    if "/" in name_or_path or name_or_path.endswith(".toml"):
        return Path(name_or_path)
    stems = [path.stem for path in folder("scenarios").glob("*.toml")]
    return folder("scenarios") / f"{_stem(name_or_path, stems)}.toml"


def scenario_text(name: str) -> str:
    """Return the text of a bundled scenario, by the name of its file."""
    return (folder("scenarios") / f"{name}.toml").read_text(encoding="utf-8")


def sample(event_type: str) -> str:
    """Return the body of an event of this type as JSON, from the demo world."""
    return (folder("fixtures") / "events" / f"{event_type}.json").read_text(encoding="utf-8")


def fixture_or_file(name_or_path: str) -> Fixture:
    """Return a bundled fixture by name, or one in a file by its path. Raises FixtureError."""
    if "/" in name_or_path or name_or_path.endswith(".json"):
        read = read_fixture(Path(name_or_path))
        try:
            return _rewind(read)
        except FixtureError as error:
            raise FixtureError(f"{name_or_path}: {error}") from None
    return fixture(name_or_path)


def fixture_of(name: str, document: Any) -> Fixture:
    """Return the fixture of a saved world: from its document, or else the bundled one.

    Raises FixtureError.
    """
    if document is None:
        return fixture(name)
    return _rewind(fixture_with(name, document))


def spec_of(saved: SavedWorld, *, id: str) -> WorldSpec:
    """Return how the world in these documents began. Raises NotRestored and FixtureError."""
    own = saved.tables.get(FIXTURE) or ()
    begins = only(saved, WORLD, WorldState).begins
    with place(WORLD, id):
        fixture = fixture_of(begins.fixture, fields_of(own[0]) if own else None)
        return WorldSpec.of(begins, id=id, fixture=fixture)


def _rewind(read: Fixture) -> Fixture:
    """Return the fixture. A saved world gets the cast of the fixture from which it began.

    Raises FixtureError.
    """
    if read.snapshot is None:
        return read
    snapshot, name, own = _beginning(read.snapshot)
    began = fixture_of(name, own)
    document = None if read.document is None else snapshot
    (state,) = snapshot["world"].values()
    begins = state["begins"]
    cast_seed = begins.get("cast_seed", begins.get("seed", DEFAULT_SEED))
    return replace(began, name=read.name, document=document, snapshot=snapshot, cast_seed=cast_seed)


def _beginning(saved: Mapping[str, Any]) -> tuple[Mapping[str, Any], str, Any]:
    """Return the saved world, the name of the fixture from which it began, and its document.

    If it began from a saved world itself, only that world's fixture is kept; otherwise a file would
    grow each time it is saved. Raises FixtureError.
    """
    snapshot = saved
    name, own = _beginning_of(saved)
    while isinstance(own, dict) and FILE in own:
        name, own = _beginning_of(own)
        ((number, state),) = saved["world"].items()
        begins = {**state["begins"], "fixture": name}
        snapshot = {**saved, "world": {number: {**state, "begins": begins}}}
        snapshot.pop("fixture")
        if own is not None:
            snapshot["fixture"] = {"0": {"_id": "fixture", **own}}
    return snapshot, name, own


def _beginning_of(saved: Mapping[str, Any]) -> tuple[str, Any]:
    if "world" not in saved and any("." in table for table in saved):
        raise FixtureError(
            "is a state file; continue from it with --store, or save one of its worlds with "
            "`sandbox world save`"
        )
    try:
        (state,) = saved["world"].values()
        name = state["begins"]["fixture"]
        own = next(iter(saved.get("fixture", {}).values()), None)
        if own is not None:
            own = {table: documents for table, documents in own.items() if table != "_id"}
    except (KeyError, TypeError, ValueError, AttributeError):
        raise FixtureError("world: does not say how the saved world began") from None
    if not isinstance(name, str):
        raise FixtureError("world: fixture: must be a name")
    return name, own
