"""The session of a browser: reading, beginning and ending it.

A browser cannot put a bearer token into everything that it asks for, and a page should not keep
one. So the console hands the token over once, and gets a cookie that scripts cannot read.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.control.rows import PREFIX, ControlFault, ControlRequest
from sandbox.control.sessions import SESSION_S, WrongToken, cookie_name
from sandbox.control.who import NOBODY, THE_OPERATOR, Who
from sandbox.domain.teams import OPERATOR

if TYPE_CHECKING:
    from sandbox.control.shapes import SessionBody


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """What a page has to know before anything else.

    `signed_in` is true too where no token is needed. `team` is the team of the token, null for the
    operator. `platform_url` is the address of the platform.
    """

    needs_token: bool
    signed_in: bool
    team: str | None
    version: str
    platform_url: str
    api_key_header: str


def read(request: ControlRequest) -> SessionView:
    """Whether this browser may use the control API."""
    return _view(request, None if request.who is NOBODY else request.who)


def begin(request: ControlRequest) -> SessionView:
    """Exchange the token for a cookie. Raises ControlFault for a wrong one."""
    body: SessionBody = request.body
    who = THE_OPERATOR
    if request.services.needs_token:
        id, who = _begin(request, body.token)
        request.answer_headers["set-cookie"] = _cookie(request, id, SESSION_S)
    return _view(request, who)


def _begin(request: ControlRequest, token: str) -> tuple[str, Who]:
    try:
        return request.sessions.begin(token)
    except WrongToken:
        raise ControlFault(
            401,
            "wrong_token",
            "this is not the token of this server",
            details="the server was given one (SANDBOX_TOKEN, --token-file), or printed one at its "
            "start; one that was made up changes with each start",
        ) from None


def end(request: ControlRequest) -> None:
    """End the session of this browser, if it has one."""
    request.sessions.end(request.scope)
    request.answer_headers["set-cookie"] = _cookie(request, "", 0)


def _view(request: ControlRequest, who: Who | None) -> SessionView:
    services = request.services
    return SessionView(
        needs_token=services.needs_token,
        signed_in=who is not None,
        team=None if who is None or who.team == OPERATOR else who.team,
        version=services.version,
        platform_url=services.platform_url,
        api_key_header=services.worlds.profile.api_key_header,
    )


def _cookie(request: ControlRequest, value: str, seconds: int) -> str:
    scope = request.scope
    # A proxy with TLS in front says so; the cookie is then for HTTPS alone.
    forwarded = dict(scope["headers"]).get(b"x-forwarded-proto", b"")
    is_https = scope.get("scheme") == "https" or forwarded == b"https"
    secure = "; Secure" if is_https else ""
    return (
        f"{cookie_name(scope)}={value}; Path={request.root_path}{PREFIX}; Max-Age={seconds}; "
        f"HttpOnly; SameSite=Strict{secure}"
    )
