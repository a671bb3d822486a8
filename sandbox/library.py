"""Where the files are that come with the sandbox: fixtures and scenarios."""

from collections.abc import Collection
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sandbox.domain.words import did_you_mean, nearest
from sandbox.scenarios.loading import ScenarioError, read_scenario
from sandbox.store.files import FILE
from sandbox.store.fixtures import Fixture, FixtureError, read_fixture

if TYPE_CHECKING:
    from sandbox.scenarios.shapes import Scenario

_PACKAGE: Final = Path(__file__).parent


def folder(name: str) -> Path:
    """The folder of that name: inside an installed package, or beside it in a checkout."""
    installed = _PACKAGE / "_library" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name


def fixture_names() -> list[str]:
    """The names of all fixtures that come with the sandbox."""
    return sorted(path.stem for path in folder("fixtures").glob("*.json"))


@cache
def fixture(name: str) -> Fixture:
    """The fixture that comes with the sandbox under this name, read once. Raises FixtureError."""
    if name not in fixture_names():
        raise FixtureError(f"there is no fixture {name!r}; there are: {', '.join(fixture_names())}")
    return _begun(read_fixture(folder("fixtures") / f"{name}.json"))


@cache
def scenarios() -> dict[str, "Scenario"]:
    """The scenarios that come with the sandbox, by the name of their file. Raises ScenarioError."""
    paths = sorted(folder("scenarios").glob("*.toml"))
    return {path.stem: read_scenario(path) for path in paths}


def _stem(name: str, stems: Collection[str]) -> str:
    """The one of the library's files that is called that, or whose scenario has that title.

    Raises ScenarioError. Titles stand in the files, which are read only where no name of a file
    fits. Source: assumed D24.
    """
    if name in stems:
        return name
    titles = {one.name: stem for stem, one in scenarios().items()}
    if name in titles:
        return titles[name]
    known = [*scenarios(), *titles]
    message = f"there is no scenario {name[:80]!r}{did_you_mean(name, known)}"
    raise ScenarioError(message, nearest(name, known))


def scenario(name: str) -> "Scenario":
    """The scenario that comes with the sandbox under this name or title. Raises ScenarioError."""
    known = scenarios()
    return known[_stem(name, known)]


def scenario_file(name_or_path: str) -> Path:
    """The file of a scenario: one of the library by name or title, or the path that is given.

    Raises ScenarioError for a name that is unknown; whether a path leads to a file is left open.
    """
    if "/" in name_or_path or name_or_path.endswith(".toml"):
        return Path(name_or_path)
    stems = [path.stem for path in folder("scenarios").glob("*.toml")]
    return folder("scenarios") / f"{_stem(name_or_path, stems)}.toml"


def scenario_or_file(name_or_path: str) -> "Scenario":
    """A scenario by name or title, or the one in a file when a path is given.

    Raises ScenarioError.
    """
    return read_scenario(scenario_file(name_or_path))


def sample(event_type: str) -> str:
    """The body of an event of this type, as JSON: one of the demo world."""
    return (folder("fixtures") / "events" / f"{event_type}.json").read_text(encoding="utf-8")


def fixture_or_file(name_or_path: str) -> Fixture:
    """A fixture by name, or the one in a file when a path is given. Raises FixtureError."""
    if "/" in name_or_path or name_or_path.endswith(".json"):
        return _begun(read_fixture(Path(name_or_path)))
    return fixture(name_or_path)


def fixture_of(name: str, document: Any) -> Fixture:
    """The fixture with which a kept world began: one of its own, else the one of that name.

    Raises FixtureError.
    """
    if document is None:
        return fixture(name)
    if isinstance(document, dict) and FILE in document:
        return _begun(Fixture(name, {}, {}, {}, {}, document=document, snapshot=document))
    from sandbox.store.fixture_check import parse_fixture

    return replace(parse_fixture(name, document), document=document)


def _begun(read: Fixture) -> Fixture:
    """The fixture; one that is a saved world has the documents with which that one began."""
    if read.snapshot is None:
        return read
    try:
        (state,) = read.snapshot["world"].values()
        own = next(iter(read.snapshot.get("fixture", {}).values()), None)
        name = state["fixture"]
    except (KeyError, TypeError, ValueError, AttributeError):
        raise FixtureError("is a snapshot that does not say how its world began") from None
    if own is not None:
        own = {table: documents for table, documents in own.items() if table != "_id"}
    return replace(
        fixture_of(name, own), name=read.name, document=read.document, snapshot=read.snapshot
    )
