"""Signing in with a browser, and the tokens of teams.

A browser cannot send a bearer token with every request, and a page should not keep one. So the
console hands the token over once, and gets a cookie that scripts cannot read.
"""

from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import Field

from sandbox.control import identity
from sandbox.control.context import ControlFault, ControlRequest, invalid, not_found
from sandbox.control.models import TOTAL, Body, DurationText, View, attribute, shows
from sandbox.control.routing import PREFIX, delete, get, post
from sandbox.domain.field_types import WorldName
from sandbox.domain.instants import Instant, parse_duration
from sandbox.platform.routing import ROOT_PATH
from sandbox.platform.security import AnswerKind, is_over_tls
from sandbox.tokens import TeamToken
from sandbox.worlds.spec import TEAM_PATTERN

GIVEN_OR_PRINTED: Final = (
    "the server was given one (SANDBOX_TOKEN, --token-file), or printed one at startup"
)


class SessionBody(Body, example={"token": "the-token-of-your-server"}):
    """The token of the control API, which the server was given or printed at startup."""

    token: Annotated[str, Field(max_length=4_096)]


class TokenBody(Body, example={"team": "mobile", "name": "CI of mobile", "expires_in": "90d"}):
    """A token for a team. Without `expires_at` or `expires_in` it does not expire."""

    team: Annotated[str, Field(pattern=TEAM_PATTERN)]
    name: WorldName = ""
    expires_at: Instant | None = None
    expires_in: Annotated[DurationText, Field(max_length=100)] | None = None

    def end(self, now: datetime) -> datetime | None:
        """Return when it expires. Raises ControlFault for two times, or one beyond the calendar."""
        if self.expires_in is None:
            return self.expires_at
        if self.expires_at is not None:
            raise invalid("expires_at and expires_in: give one of them")
        try:
            return now + parse_duration(self.expires_in)
        except OverflowError:
            raise invalid("expires_in: is longer than a calendar lasts") from None


class SessionView(View):
    """What a page must know first.

    `signed_in` is also true if no token is needed. `team` is the team of the token, null for the
    operator. `platform_url` is the address of the platform: `/` unless it has a port of its own.
    """

    needs_token: bool = attribute("tokens.are_needed")
    signed_in: bool
    team: str | None
    version: str
    platform_url: str
    api_key_header: str = attribute("worlds.profile.api_key_header")


_OPEN: Final[dict[str, Any]] = {"is_open": True, "kind": AnswerKind.CONTROL}
_OPERATORS: Final[dict[str, Any]] = {"is_for_operator": True, "is_for_default": True}


@get(f"{PREFIX}/session", "session.read", **_OPEN)
def read_session(request: ControlRequest) -> SessionView:
    """Read whether this browser may use the control API."""
    return _view_session(request, request.who)


@post(f"{PREFIX}/session", "session.begin", refuses=(401, 403), **_OPEN)
def begin_session(request: ControlRequest, body: SessionBody) -> SessionView:
    """Exchange the token for a cookie."""
    if not request.services.tokens.are_needed:
        return _view_session(request, identity.THE_OPERATOR)
    begun = request.sessions.begin(body.token)
    if begun is None:
        why = "this is not the token of this server"
        how = f"{GIVEN_OR_PRINTED}; a generated one changes with each start"
        raise ControlFault(401, "wrong_token", why, details=how)
    id, who = begun
    request.answer_headers["set-cookie"] = _cookie(request, id, identity.SESSION_S)
    return _view_session(request, who)


@delete(f"{PREFIX}/session", "session.end", refuses=(403,), **_OPEN)
def end_session(request: ControlRequest) -> None:
    """End the session of this browser."""
    request.sessions.end(request.scope)
    request.answer_headers["set-cookie"] = _cookie(request, "", 0)


def _view_session(request: ControlRequest, who: identity.Identity) -> SessionView:
    team = None if who in (identity.ANONYMOUS, identity.THE_OPERATOR) else who.team
    # It is relative because a proxy may add a prefix that the request does not show.
    url = "/" if request.services.platform_url == "/" else request.platform_url
    is_known = who != identity.ANONYMOUS
    return SessionView.of(request.services, signed_in=is_known, team=team, platform_url=url)


def _cookie(request: ControlRequest, value: str, seconds: int) -> str:
    scope = request.scope
    secure = "; Secure" if is_over_tls(scope) else ""
    return (
        f"{identity.cookie_name(scope)}={value}; Path={scope.get(ROOT_PATH, '')}{PREFIX}; "
        f"Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
    )


@shows(TeamToken, without=("digest",))
class TokenView(View):
    """A token of a team. `expires_at` is null if it does not expire."""

    expired: bool


class NewToken(TokenView):
    """A token with its plaintext, which no other answer shows."""

    token: str


class TokensOfTeams(View):
    """The tokens of all teams, oldest first."""

    tokens: list[TokenView]
    total: int = TOTAL


@post(f"{PREFIX}/tokens", "tokens.create", status=201, refuses=(409,), **_OPERATORS)
def create_token(request: ControlRequest, body: TokenBody) -> NewToken:
    """Issue a token to a team.

    No other answer shows it.
    """
    tokens = request.services.tokens
    now = tokens.now()
    expires_at = body.end(now)
    if expires_at is not None and expires_at <= now:
        raise invalid("expires_at: must be in the future")
    made, plaintext = tokens.add(body.team, body.name, expires_at)
    return NewToken.of(_view_token(request, made), token=plaintext)


@get(f"{PREFIX}/tokens", "tokens.list", **_OPERATORS)
def list_tokens(request: ControlRequest) -> TokensOfTeams:
    """List the tokens of all teams."""
    listed = request.services.tokens.list_all()
    return TokensOfTeams(tokens=[_view_token(request, one) for one in listed])


@delete(f"{PREFIX}/tokens/{{id}}", "tokens.delete", **_OPERATORS)
def delete_token(request: ControlRequest) -> None:
    """Revoke a token of a team."""
    if not request.services.tokens.remove(request.id):
        raise not_found("there is no token with this id")


def _view_token(request: ControlRequest, token: TeamToken) -> TokenView:
    now = request.services.tokens.now()
    return TokenView.of(token, expired=not token.is_valid_at(now))
