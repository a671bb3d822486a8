"""What a browser gets at the two addresses that people type: the way to the console."""

from typing import Final

from starlette.types import Scope, Send

from sandbox.control.rows import PREFIX
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


async def send_welcome(scope: Scope, send: Send, *, version: str, control_port: int | None) -> None:
    """Send a browser to the console; say where it is if it is on another port, `control_port`."""
    headers = [*HEADERS_OF[AnswerKind.OPEN]]
    if control_port is None:
        # The address of a server's console stays; what its first page is, may change.
        status = 308 if scope["path"] == PREFIX else 307
        where = f"{scope.get('root_path', '')}{PREFIX}/"
        headers.append((b"location", where.encode("ascii", "ignore")))
        body = b""
    else:
        status = 200
        # For people with a browser only, so the start does without it.
        from html import escape

        body = _PAGE.format(version=escape(version), port=control_port, prefix=PREFIX).encode()
        headers.append((b"content-type", b"text/html; charset=utf-8"))
    headers.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
