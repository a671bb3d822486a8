"""What a browser gets at the two addresses that people type: the way to the console."""

from html import escape
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from sandbox import __version__
from sandbox.control.rows import PREFIX
from sandbox.platform.routing import ROOT_PATH, path_of
from sandbox.platform.security_headers import HEADERS_OF, AnswerKind

WELCOME_PATHS: Final = frozenset({"/", PREFIX})

_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>uat-sandbox</title>
<link rel="icon" href="data:,">
</head>
<body>
<h1>uat-sandbox {version}</h1>
<p>This is a payment sandbox. Programs send it requests with an API key, and it answers as the
platform would.</p>
<p>Its console, its documentation and its control API are on port {port}, under
<code>{prefix}/</code>.</p>
</body>
</html>
"""


def is_welcome(scope: Scope) -> bool:
    """Whether a browser opens one of the two addresses that people type."""
    return (
        scope["type"] == "http"
        and scope["method"] == "GET"
        and any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])
    )


async def welcome(request: Request) -> Response:
    """Send a browser to the console; say where it is if it has a port of its own.

    Raises HTTPException with 404 for a client that is no browser.
    """
    scope, state = request.scope, request.app.state
    if not is_welcome(scope):
        raise HTTPException(404)
    headers = {name.decode(): value.decode() for name, value in HEADERS_OF[AnswerKind.OPEN]}
    server = scope.get("server")
    if state.control_port is None or (server is not None and server[1] == state.control_port):
        # The address of a server's console stays; what its first page is, may change.
        status = 308 if path_of(scope) == PREFIX else 307
        where = f"{scope[ROOT_PATH]}{PREFIX}/"
        return Response(status_code=status, headers={**headers, "location": where})
    page = _PAGE.format(version=escape(__version__), port=state.control_port, prefix=PREFIX)
    return HTMLResponse(page, headers=headers)
