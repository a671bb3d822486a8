"""Control endpoints of the tokens of teams, for the operator alone. Source: assumed D25-teams."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypedDict

from sandbox.control.rows import ControlFault, ControlRequest, invalid
from sandbox.control.who import TOKENS_MAX, TooManyTokens
from sandbox.domain.instants import from_ms, to_wire
from sandbox.store.team_tokens import TeamToken

if TYPE_CHECKING:
    from sandbox.control.acting_shapes import TokenBody


class TokenView(TypedDict):
    """A token of a team. `expires_at` is null if it does not expire."""

    id: str
    team: str
    name: str
    created_at: str
    expires_at: str | None
    expired: bool


class NewToken(TokenView):
    """A token with its plaintext, which no other answer shows."""

    token: str


class TokensOfTeams(TypedDict):
    """The tokens of all teams, oldest first."""

    tokens: list[TokenView]
    total: int


def create(request: ControlRequest) -> NewToken:
    """Issue a token to a team; the one answer that shows it."""
    body: TokenBody = request.body
    now = _now(request)
    try:
        expires_at = body.end(now)
    except ValueError as error:
        raise invalid(str(error)) from None
    if expires_at is not None and expires_at <= now:
        raise invalid("expires_at: must lie ahead")
    try:
        made, plaintext = request.services.tokens.add(body.team, body.name, expires_at)
    except TooManyTokens:
        raise ControlFault(
            409, "too_many_tokens", f"the server holds {TOKENS_MAX:,} tokens; delete old ones"
        ) from None
    return {**_view(made, now), "token": plaintext}


def list_all(request: ControlRequest) -> TokensOfTeams:
    """List the tokens of all teams, without their plaintext."""
    listed, now = request.services.tokens.listed(), _now(request)
    return {"tokens": [_view(one, now) for one in listed], "total": len(listed)}


def delete(request: ControlRequest) -> None:
    """Make a token worthless, with all sessions that began with it."""
    if not request.services.tokens.remove(request.params["id"]):
        raise ControlFault(404, "not_found", "there is no token with this id")


def _now(request: ControlRequest) -> datetime:
    return from_ms(int(request.services.system_clock() * 1000))


def _view(token: TeamToken, now: datetime) -> TokenView:
    expires_at = token.expires_at
    return {
        "id": token.id,
        "team": token.team,
        "name": token.name,
        "created_at": to_wire(token.created_at),
        "expires_at": None if expires_at is None else to_wire(expires_at.astimezone(UTC)),
        "expired": not token.is_valid_at(now),
    }
