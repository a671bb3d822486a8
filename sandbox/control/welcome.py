"""The page that a browser gets at `/` and `/_sandbox`: where things are.

Other clients get the documented 404 there, so nothing of the platform changes (assumed D25).
"""

from html import escape
from typing import Final

from starlette.types import Scope, Send

from sandbox.control.rows import PREFIX
from sandbox.platform.security_headers import HEADERS_OF, AnswerKind

WELCOME_PATHS: Final = frozenset({"/", PREFIX, PREFIX + "/"})

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
{links}
<p>At a terminal, <code>sandbox keys</code> lists the API keys, <code>sandbox tail</code> shows the
last requests with the reasons for each answer, and <code>sandbox --help</code> lists the rest.</p>
</body>
</html>
"""

_LINKS: Final = (
    ("docs", "Read and try the API"),
    ("worlds/default/requests", "The last requests, with the reasons for each answer"),
    ("worlds/default", "The world: its clock, keys and terminals"),
    ("platform/openapi.json", "The platform as OpenAPI"),
    ("openapi.json", "The control API as OpenAPI"),
)


def is_welcome(scope: Scope) -> bool:
    """Whether a browser opens one of the two addresses that people type."""
    return (
        scope["type"] == "http"
        and scope["method"] == "GET"
        and any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])
    )


async def send_welcome(scope: Scope, send: Send, *, version: str, control_port: int | None) -> None:
    """Answer with the page. `control_port` is the port of the control API, if it is another one."""
    if control_port is None:
        base = escape(scope.get("root_path", "") + PREFIX, quote=True)
        items = "\n".join(f'<li><a href="{base}/{at}">{text}</a></li>' for at, text in _LINKS)
        links = f"<ul>\n{items}\n</ul>"
    else:
        links = (
            f"<p>Its documentation and its control API are on port {control_port}, "
            f"under <code>{PREFIX}</code>.</p>"
        )
    body = _PAGE.format(version=escape(version), links=links).encode()
    headers = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-length", b"%d" % len(body)),
        *HEADERS_OF[AnswerKind.OPEN],
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
