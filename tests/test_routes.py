"""The application, seen as any other of Starlette's: its routes are the platform's endpoints."""

from collections.abc import Iterable, Iterator
from typing import Any

from starlette.applications import Starlette
from starlette.routing import Mount, Route

from sandbox.app import create_app
from sandbox.platform.routes import OPERATIONS
from tests.openapi.described import usual_documents

FOR_BROWSERS = {
    ("GET", "/_sandbox/docs"),
    ("GET", "/_sandbox/"),
    ("GET", "/_sandbox/assets/{v}/{name}"),
}
"""The console: documents are for programs, and leave it out."""


def walk(routes: Iterable[Any], below: str = "") -> Iterator[tuple[str, Any]]:
    """Each route that is no mount, with its whole path."""
    for route in routes:
        if isinstance(route, Mount):
            yield from walk(route.routes, below + route.path)
        else:
            yield below + route.path, route


def operations_of(app: Starlette, below: str) -> set[tuple[str, str]]:
    return {
        (method, path)
        for path, route in walk(app.routes)
        for method in route.methods or ()
        if path.startswith(below) and method != "HEAD"
    }


def test_every_operation_is_a_route_of_starlette_and_in_the_documents():
    app = create_app()
    platform, control = usual_documents()

    assert all(isinstance(route, Route) for _, route in walk(app.routes))
    rows = {(row.method, row.path) for row in OPERATIONS}
    assert operations_of(app, "/v") == set(platform.addresses.values()) == rows
    assert operations_of(app, "/_sandbox/") - set(control.addresses.values()) == FOR_BROWSERS


def test_every_version_of_the_platform_and_the_control_api_is_a_mount():
    mounts = {route.path for route in create_app().routes if isinstance(route, Mount)}

    assert mounts == {"/v1", "/v2", "/v3", "/v5", "/_sandbox"}
