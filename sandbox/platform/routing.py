"""Build Starlette's routes from tables of operations.

Each path is one `Route`, so that a 405 can name all methods of its path.
"""

from collections.abc import Coroutine, Iterable, Sequence
from types import ModuleType
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote

from msgspec import Struct
from starlette.routing import Match as Fit
from starlette.routing import Mount, Route, Router
from starlette.types import Receive, Scope, Send

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
    """The operations of one path, by method. `surface` is an attribute of `app.state`.

    `places` has the number of the segment for each parameter of the path.
    """

    def __init__(self, surface: str, path: str, rows: Iterable[Any]) -> None:
        self.surface = surface
        self.rows = {row.method: row for row in rows}
        segments = enumerate(path.split("/"))
        self.places = {one[1:-1]: place for place, one in segments if one.startswith("{")}

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Coroutine[Any, Any, None]:
        """Let the surface answer: the platform or the control API."""
        state = scope["app"].state
        return state[self.surface].respond(scope, receive, send)  # type: ignore[no-any-return]


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
    return path.removeprefix(scope.get("root_path", ""))


def is_written_below(scope: Scope, prefix: str) -> bool:
    """Whether the path was sent with this prefix unencoded, so that a proxy recognizes it."""
    raw: bytes | None = scope.get("raw_path")
    if raw is None:
        return True
    below = quote(scope.get("root_path", "")).encode()
    return raw.removeprefix(below).startswith(f"{prefix}/".encode())


class IndexedMount(Mount):
    """A mount that looks a path up instead of trying its routes in turn, literal paths first.

    Methods do not matter: one that a path does not serve is a 405. The root path of the request
    stays that of the application.
    """

    def __init__(self, prefix: str, surface: str, rows: Iterable[Any]) -> None:
        paths: dict[str, list[Any]] = {}
        for row in sorted(rows, key=lambda row: row.path.count("{")):
            paths.setdefault(row.path, []).append(row)
        routes = []
        # By the places of parameters: the endpoints by their paths with these places empty.
        self._index: dict[tuple[int, ...], dict[str, PathEndpoint]] = {}
        for path, found in paths.items():
            endpoint = PathEndpoint(surface, path, found)
            methods = [row.method for row in found]
            routes.append(Route(path.removeprefix(prefix), endpoint, methods=methods))
            places = tuple(endpoint.places.values())
            self._index.setdefault(places, {})[_blank(path.split("/"), places)] = endpoint
        super().__init__(prefix, app=Router(routes, redirect_slashes=False))

    def matches(self, scope: Scope) -> tuple[Fit, Scope]:
        """Find the endpoint of a path, with the values of its parameters."""
        path = path_of(scope)
        if scope["type"] == "http" and path.startswith(self.path):
            segments = path.split("/")
            for places, endpoints in self._index.items():
                endpoint = endpoints.get(_blank(segments, places))
                if endpoint is not None and all(segments[place] for place in places):
                    params = {name: segments[place] for name, place in endpoint.places.items()}
                    return Fit.FULL, {"endpoint": endpoint, "path_params": params}
        return Fit.NONE, {}

    def handle(self, scope: Scope, receive: Receive, send: Send) -> Coroutine[Any, Any, None]:
        """Let the endpoint answer."""
        return scope["endpoint"](scope, receive, send)  # type: ignore[no-any-return]


def _blank(segments: list[str], places: tuple[int, ...]) -> str:
    """Return a path without what it has in these places."""
    left = segments.copy()
    for place in places:
        if place < len(left):
            left[place] = ""
    return "/".join(left)


def build_mounts(surface: str, rows: Iterable[Any]) -> list[Mount]:
    """Return one mount for each first segment, such as /v5."""
    by_segment: dict[str, list[Any]] = {}
    for row in rows:
        by_segment.setdefault("/" + row.path.split("/")[1], []).append(row)
    return [IndexedMount(segment, surface, found) for segment, found in by_segment.items()]


def find_match(mounts: Iterable[Mount], method: str, path: str) -> Match[Any] | None:
    """Return the match of a path, for a request that does not come through Starlette."""
    for mount in mounts:
        _, found = mount.matches({"type": "http", "path": path})
        if found:
            return match_of({"method": method, **found})
    return None
