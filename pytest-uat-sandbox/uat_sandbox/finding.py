"""Finding the sandbox of a test run: at a URL, from a command, or in this process."""

import os
import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_OURS: Final = "server/embedded.py"
"""A file that identifies uat-sandbox's package `sandbox` among others of that name."""

_SERVES_ITSELF: Final = ("docker", "podman", "nerdctl")
"""Programs that run a container whose command is already `sandbox serve`."""

NOWHERE: Final = (
    "there is no sandbox: install uat-sandbox into this environment, or name one with "
    "--sandbox-command or SANDBOX_COMMAND, such as 'uvx --from WHEEL uat-sandbox', or with "
    "--sandbox-url or SANDBOX_URL"
)


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the sandbox is: one of `url` and `command`, or in this process, or nowhere.

    `origin` says where it was named. `why_not` is the error if it is nowhere.
    """

    url: str | None = None
    command: tuple[str, ...] = ()
    is_here: bool = False
    origin: str = ""
    why_not: str = ""

    def __str__(self) -> str:
        if self.is_here:
            return "in this process"
        if self.url or self.command:
            return f"{self.url or shlex.join(self.command)} ({self.origin})"
        return self.why_not


def place(
    url: str | None, command: str | None, origins: Mapping[str, str], folders: Iterable[Path] = ()
) -> Place:
    """Return where the sandbox is, for these options.

    `origins` says where options were given. `folders` are those from which tests may import later.
    """
    if url is not None:
        return Place(url=url, origin=origins.get("sandbox_url", ""))
    if command is not None:
        try:
            words = tuple(shlex.split(command))
        except ValueError as error:
            words, why = (), str(error)
        else:
            why = "it is empty"
        origin = origins.get("sandbox_command", "")
        if not words:
            return Place(why_not=f"{origin or 'command'}: {command!r} is not a command: {why}")
        return Place(command=serving_command(words), origin=origin)
    is_importable = is_ours(folders)
    if is_importable and not are_threads_patched():
        return Place(is_here=True)
    installed = _installed_command()
    if installed is None:
        return Place(why_not=NOWHERE)
    why = (
        "gevent has patched threads" if is_importable else "the project also has a module 'sandbox'"
    )
    return Place(command=serving_command((installed,)), origin=f"a separate process, because {why}")


def are_threads_patched() -> bool:
    """Whether gevent has replaced threads by greenlets, in which a server cannot run."""
    monkey = sys.modules.get("gevent.monkey")
    return monkey is not None and bool(monkey.is_module_patched("threading"))


def serving_command(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command with `serve` added, unless it has that or runs a container."""
    if "serve" in words or Path(words[0]).stem in _SERVES_ITSELF:
        return words
    return (*words, "serve")


def is_ours(folders: Iterable[Path] = ()) -> bool:
    """Whether `import sandbox` gives the package of uat-sandbox, without importing it.

    A project may have a module with that name, perhaps only once its folders are on the path, when
    a test is collected.
    """
    for folder in dict.fromkeys(map(os.fspath, folders)):
        spec = PathFinder.find_spec("sandbox", [folder])
        # A folder without __init__.py does not hide a package.
        if spec is not None and spec.origin and not _has_our_file(spec.submodule_search_locations):
            return False
    try:
        spec = find_spec("sandbox")
    except ValueError:
        # A module that was put into sys.modules by hand.
        return False
    return spec is not None and _has_our_file(spec.submodule_search_locations)


def _has_our_file(locations: Iterable[str] | None) -> bool:
    return any((Path(one) / _OURS).is_file() for one in locations or ())


def _installed_command() -> str | None:
    """Return the command of uat-sandbox in this environment, if it is installed."""
    import shutil
    import sysconfig
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        distribution("uat-sandbox")
    except PackageNotFoundError:
        return None
    return shutil.which("sandbox", path=sysconfig.get_path("scripts"))
