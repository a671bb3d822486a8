"""Build Starlette's routes from tables of operations.

Each path is one `Route`, so that a 405 can name all methods of its path.
"""

from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote

from msgspec import Struct
from starlette.routing import Match as Fit
from starlette.routing import Mount, Route, Router
from starlette.types import Receive, Scope, Send

ROOT_PATH: Final = "sandbox.root_path"
"""The key in a request's scope for the path at which another application mounts this one."""


RowT = TypeVar("RowT")


_ROWS: Final[dict[str, list[Any]]] = {}
"""The registered rows of both surfaces, by the module of their functions."""


def register(module: str, row: Any) -> None:
    """Add a row to those of a module."""
    _ROWS.setdefault(module, []).append(row)


def rows_of(*modules: ModuleType) -> tuple[Any, ...]:
    """Return the rows that the modules registered, in order."""
    return tuple(row for module in modules for row in _ROWS.get(module.__name__, ()))


class Match(Struct, Generic[RowT]):
    """The row for a path and its method, or None, and the rows of the path for other methods."""

    row: RowT | None
    params: dict[str, str]
    others: Sequence[RowT] = ()


class PathEndpoint:
    """The operations of one path, by method. `surface` is an attribute of `app.state`."""

    def __init__(self, surface: str, rows: Iterable[Any]) -> None:
        self.surface = surface
        self.rows = {row.method: row for row in rows}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the surface answer: the platform or the control API."""
        await scope["app"].state[self.surface].respond(scope, receive, send)


def match_of(scope: Scope) -> Match[Any] | None:
    """Return the match of a routed request; None if no endpoint has its path."""
    endpoint = scope.get("endpoint")
    if not isinstance(endpoint, PathEndpoint):
        return None
    method = scope["method"]
    # HEAD is answered wherever GET is (RFC 9110, 9.1).
    row = endpoint.rows.get("GET" if method == "HEAD" else method)
    if row is not None:
        return Match(row, scope["path_params"])
    return Match(None, {}, tuple(endpoint.rows.values()))


def path_of(scope: Scope) -> str:
    """Return the path of a request, without the path at which this application is mounted."""
    path: str = scope["path"]
    return path.removeprefix(scope.get(ROOT_PATH, ""))


def is_written_below(scope: Scope, prefix: str) -> bool:
    """Whether the path was sent with this prefix unencoded, so that a proxy recognizes it."""
    raw: bytes | None = scope.get("raw_path")
    if raw is None:
        return True
    below = quote(scope.get(ROOT_PATH, "")).encode()
    return raw.removeprefix(below).startswith(f"{prefix}/".encode())


class PathRoute(Route):
    """A route that keeps its path for itself: a method that it does not serve is a 405."""

    def matches(self, scope: Scope) -> tuple[Fit, Scope]:
        """Match by the path alone, so that no path with parameters gets the other methods."""
        fit, below = super().matches(scope)
        return (Fit.FULL if fit is Fit.PARTIAL else fit), below


def build_routes(surface: str, rows: Iterable[Any], *, below: str) -> list[Route]:
    """Return one route for each path, without the prefix `below`, literal paths first."""
    paths: dict[str, list[Any]] = {}
    for row in rows:
        paths.setdefault(row.path.removeprefix(below), []).append(row)
    return [
        PathRoute(path, PathEndpoint(surface, found), methods=[one.method for one in found])
        for path, found in sorted(paths.items(), key=lambda item: item[0].count("{"))
    ]


def build_mounts(surface: str, rows: Iterable[Any]) -> list[Mount]:
    """Return one mount for each first segment, such as /v5, with a route for each path."""
    by_segment: dict[str, list[Any]] = {}
    for row in rows:
        by_segment.setdefault("/" + row.path.split("/")[1], []).append(row)
    return [
        Mount(
            segment,
            app=Router(build_routes(surface, found, below=segment), redirect_slashes=False),
        )
        for segment, found in by_segment.items()
    ]


def find_match(mounts: Iterable[Mount], method: str, path: str) -> Match[Any] | None:
    """Return the match of a path, for a request that does not come through Starlette."""
    for mount in mounts:
        scope: dict[str, Any] = {"type": "http", "method": method, "path": path, "root_path": ""}
        _, below = mount.matches(scope)
        for route in mount.routes if below else ():
            fit, inner = route.matches({**scope, **below})
            if fit is Fit.FULL:
                return match_of({**scope, **below, **inner})
    return None


class NoteRootPath:
    """Middleware that notes where this application is mounted, before its own mounts do."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with the note."""
        scope[ROOT_PATH] = scope.get("root_path", "")
        await self._app(scope, receive, send)
