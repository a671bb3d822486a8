"""Requests to the platform on behalf of a member of a world's cast.

The control API lists the cast with its keys; the platform gets ordinary requests.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple, NoReturn

import click
from httpx2 import Response

from sandbox.cli import control_client
from sandbox.cli.arguments import HintedType, Words, quote_word
from sandbox.cli.output import EXIT_REFUSED, Options, refuse
from sandbox.domain.json_text import fields_of, value_of
from sandbox.domain.text import suggest_words

USUAL: Final = "merchant"
"""The member that acts, at its terminal, unless a command names another member."""

ANSWER_S: Final = 600.0
"""A payment may wait for a card that is tapped by hand."""

_PAGE_MAX: Final = 500
_FULL_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
REQUEST_ID: Final = "x-sandbox-request-id"
"""The header of an answer with the request's id in the journal, if the server sends it."""

OUTCOME_HEADER: Final = "x-sandbox-outcome"
"""Chooses the outcome of a request; in an answer, it says what chose it."""


class Platform(NamedTuple):
    """The platform of a server: its URL, and the header for its keys."""

    url: str
    key_header: str

    def ask(self, key: str, method: str, path: str, body: Any = None, **headers: str) -> Response:
        """Return the answer to one request with the key, whatever its status. Raises Unanswered."""
        server = control_client.Remote(url=self.url, token=None, answer_s=ANSWER_S)
        headers[self.key_header] = key
        return server.send(method, self.url + path, body, **headers)


@dataclass(frozen=True, slots=True)
class Member:
    """A member of the cast, with the key to act with: its own, or that of a parent."""

    name: str
    key: str = field(repr=False)


class Payment(NamedTuple):
    """A payment that a command names: its id, who acts on it, and its currency if known."""

    id: str
    member: Member
    currency: str | None = None


@dataclass(frozen=True)
class Stage:
    """A world of a server with its cast, and the platform beside it.

    `actor` is the member of the cast that acts, if one is named. Every failure ends the command
    with its message, as those of `Remote` do.
    """

    remote: control_client.RemoteWorld
    actor: str | None

    @cached_property
    def world(self) -> Mapping[str, Any]:
        """The world as the control API shows it."""
        return dict(self.remote.read("GET"))

    @cached_property
    def platform(self) -> Platform:
        """The platform of the server."""
        return platform_of(self.remote.server)

    # --- who --------------------------------------------------------------------------------

    def member(self) -> Member:
        """Return the actor, or else the usual member, or else the first one with a key."""
        keys, accounts = self.world["keys"], self.world["accounts"]
        usual = USUAL if USUAL in keys else next(iter(keys), None)
        name = usual if self.actor is None else self.actor
        if name is None:
            refuse(f"the world {self.world['id']} has no key to act with", EXIT_REFUSED)
        if name in keys:
            return Member(name, keys[name]["key"])
        if name not in accounts:
            refuse_unknown("member of the cast", name, [*keys, *accounts], "--as")
        return self.owner(accounts[name])

    def owner(self, account: str, parents: Sequence[str] | None = None) -> Member:
        """Return the member that owns the account, with its key or that of the nearest parent.

        `parents` begin with the root; without them, the platform is asked.
        """
        keys, names = self.world["keys"], {id: one for one, id in self.world["accounts"].items()}
        name = names.get(account, account)
        if name in keys:
            return Member(name, keys[name]["key"])
        for parent in reversed(self._parents(account) if parents is None else parents):
            if (parent_name := names.get(parent)) in keys:
                return Member(name, keys[parent_name]["key"])
        said = f"neither {name} nor its parents have a key; these members do: {', '.join(keys)}"
        return refuse(said, EXIT_REFUSED)

    def _parents(self, account: str) -> list[str]:
        """Return the parents of an account, the root first, as the first key that sees it does."""
        for name, key in self.world["keys"].items():
            reply = self.ask(Member(name, key["key"]), "GET", f"/v1/accounts/{account}")
            if reply.is_success:
                return list(value_of(reply.content)["parent_account_ids"])
        return []

    # --- where ------------------------------------------------------------------------------

    def terminal(self, named: str | None, member: Member) -> str:
        """Return the id of a terminal: that of a member of the cast, or an id as it is.

        Without a name it is the member's own, or the usual one for a member without a terminal.
        """
        terminals: Mapping[str, str] = self.world["terminals"]
        found = self._usual_terminal(member) if named is None else terminals.get(named)
        if found is not None:
            return found
        if named is None:
            refuse(f"{member.name} has no terminal; name one with --terminal", EXIT_REFUSED)
        if _FULL_ID.fullmatch(named):
            return named
        return refuse_unknown("terminal of the cast", named, terminals, "--terminal")

    def _usual_terminal(self, member: Member) -> str | None:
        terminals: Mapping[str, str] = self.world["terminals"]
        return terminals.get(member.name, terminals.get(USUAL))

    def options_of(self, member: Member, terminal: str) -> str:
        """Return the options with which the member acts at a terminal, if it needs any."""
        who = "" if member.name == USUAL else f" --as {member.name}"
        is_usual = terminal == self._usual_terminal(member)
        return who if is_usual else f"{who} --terminal {terminal}"

    def currency_at(self, terminal: str) -> str | None:
        """Return the currency of payments at a terminal, None if the world has no such terminal."""
        listed = self._list("directory", "entries", kind="terminal")
        return next((one["currency"] for one in listed if one["id"] == terminal), None)

    def currencies_of_batches(self) -> dict[str, str]:
        """Return the currency of each batch of the world, by its id."""
        return {one["id"]: one["currency"] for one in self._list("batches", "batches")}

    def _list(self, path: str, name: str, **query: Any) -> Iterator[Mapping[str, Any]]:
        """Yield what a list of the control API has under this name, page by page."""
        before: int | None = None
        while True:
            page = self.remote.read("GET", path, limit=_PAGE_MAX, before=before, **query)
            yield from page[name]
            if (before := page["next"]) is None:
                return

    # --- what -------------------------------------------------------------------------------

    def ask(
        self, member: Member, method: str, path: str, body: Any = None, outcome: str | None = None
    ) -> Response:
        """Return the platform's answer to one request with the member's key, whatever its status.

        `outcome` is sent as the header that chooses one. The command ends with exit status 1 if
        the connection breaks or the answer is not JSON, because the request may have been carried
        out.
        """
        headers = {} if outcome is None else {OUTCOME_HEADER: outcome}
        try:
            reply = self.platform.ask(member.key, method, path, body, **headers)
        except control_client.Unanswered as error:
            _refuse_unread(str(error).rstrip("."))
        if reply.is_success and value_of(reply.content) is None:
            _refuse_unread(
                f"the platform answered {reply.status_code} with a body that is not JSON"
            )
        return reply

    def must(self, member: Member, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Return the body of the platform's answer.

        The command ends with status and reason if it is a refusal.
        """
        reply = self.ask(member, method, control_client.add_query(path, **query), body)
        if not reply.is_success:
            refuse(self.refusal(reply), EXIT_REFUSED)
        return value_of(reply.content)

    def refusal(self, reply: Response) -> str:
        """Put a refusal of the platform into words: status, code, and the journal's reason."""
        body = fields_of(value_of(reply.content))
        code = body.get("error") or body.get("detail") or "no JSON"
        why = find_reason(self.remote, reply.headers) or body.get("details") or body.get("detail")
        said = f"the platform answered {reply.status_code} {code}"
        return f"{said}: {why}" if why and why != code else said

    # --- payments by name -------------------------------------------------------------------

    def payment(self, named: str) -> Payment:
        """Find a payment by its id, by the beginning of its id, or by `last`.

        The actor acts on it, or without one its owner, or the nearest parent with a key. With an
        actor, `last` is the last payment that it sees.
        """
        member = None if self.actor is None else self.member()
        is_last, is_whole = named == "last", _FULL_ID.fullmatch(named)
        limit, searched = (1, None) if is_last else (200, named or None)
        if member is None or is_whole:
            found = self.remote.read("GET", "payments", limit=limit, q=searched, shape="full")
            listed = found["payments"]
        else:
            query: dict[str, Any] = {"limit": limit, "search_term": searched or ""}
            listed = self.must(member, "GET", "/v2/transactions", **query)["transactions"]
        one = _only(named, {one["transaction_id"]: one for one in listed})
        if one is None and not is_whole:
            seen = f"{(member or self.member()).name} sees no payment"
            rest = "" if is_last else f" whose id begins with {quote_word(named)}"
            refuse(f"{seen}{rest}; name it by its id, the beginning of its id, or `last`")
        if one is None:
            return Payment(named, member or self.member())
        member = member or self.owner(one["account_id"], one["parent_account_ids"])
        return Payment(one["transaction_id"], member, one["currency"])

    # --- batches by name --------------------------------------------------------------------

    def batch(self, named: str, happened: str) -> tuple[str, Member]:
        """Find a batch by the beginning of its id, or by `last`, with the member that acts on it.

        Only batches that were `opened`, or `submitted`, count.
        """
        limit, searched = (1, None) if named == "last" else (1000, named or None)
        about: Any = {"event_type": f"batch.{happened}", "limit": limit, "q": searched}
        listed = self.remote.read("GET", "messages", **about)["messages"]
        one = _only(named, {one["subject"]: one for one in listed}, "batches")
        if one is None:
            which = "" if named == "last" else f" whose id begins with {quote_word(named)}"
            look = control_client.with_options("sandbox batch list")
            refuse(f"no batch{which} was {happened}; `{look}` lists the batches")
        member = self.owner(one["account_id"]) if self.actor is None else self.member()
        return one["subject"], member


def platform_of(server: control_client.Remote) -> Platform:
    """Return the platform of a server, which the control API names."""
    shown = server.read("GET", "/session")
    # "/" if the platform and the control API have the same port.
    url = server.url if shown["platform_url"] == "/" else shown["platform_url"]
    if server.url.startswith("https:") and url.startswith("http:"):
        # The server does not know of TLS in front of it, and a key must not be sent in the clear.
        url = "https" + url.removeprefix("http")
    return Platform(url, shown["api_key_header"])


def _cast_type(*kinds: str) -> HintedType:
    """Return the type of a name in these parts of a world's cast, which the server completes."""

    def words(ctx: click.Context) -> Words:
        world = control_client.read_for_completion(ctx) or {}
        return {name: "" for kind in kinds for name in world.get(kind, ())}

    return HintedType(words)


MEMBER: Final = _cast_type("keys", "accounts")
KEY: Final = _cast_type("keys")
ACCOUNT: Final = _cast_type("accounts")
TERMINAL: Final = _cast_type("terminals")

terminal_option = click.option(
    "--terminal", type=TERMINAL, help="Terminal of a member of the cast, or its id."
)


class ActorCommand(control_client.WorldCommand):
    """A command in which a member of the cast acts, which gets the world as a `stage`."""

    added: Options = (
        click.Option(
            ["--as", "actor"],
            type=MEMBER,
            metavar="MEMBER",
            help="Member of the cast that acts, like partner or second_merchant.",
        ),
        *control_client.WorldCommand.added,
    )

    def value_for(self, ctx: click.Context) -> dict[str, Any]:
        """Return the arguments of its function."""
        given = super().value_for(ctx)
        return given | {"stage": Stage(given.pop("world"), given.pop("actor"))}


def _refuse_unread(said: str) -> NoReturn:
    """End the command because the answer of the platform cannot be read."""
    look = control_client.with_options("sandbox tail --no-follow --limit 1")
    why = f"{said}; the platform may have carried it out anyway: `{look}` shows the request"
    refuse(why, EXIT_REFUSED)


def refuse_unknown(what: str, word: str, known: Collection[str], option: str) -> NoReturn:
    """End the command because of an unknown word, and suggest the nearest."""
    hint = suggest_words(word, known, shown=len(known))
    refuse(f"{option}: {quote_word(word)} is not a known {what}{hint}")


def _only(named: str, listed: Mapping[str, Any], what: str = "payments") -> Any:
    """Return the one whose id begins like this, or the `last` one; None if there is none.

    Ends the command if there are several.
    """
    found = {id: one for id, one in listed.items() if named == "last" or id.startswith(named)}
    if len(found) > 1 and named != "last":
        few = ", ".join(list(found)[:3])
        more = "" if len(found) <= 3 else f" and {len(found) - 3} more"
        refuse(f"{len(found)} {what} have an id that begins with {quote_word(named)}: {few}{more}")
    return next(iter(found.values()), None)


def find_reason(world: control_client.RemoteWorld, headers: Mapping[str, str]) -> str | None:
    """Return the reason in the journal for a refusal, None if the journal no longer has it."""
    with suppress(control_client.Unanswered):
        if request_id := headers.get(REQUEST_ID):
            return refusal_reason(world.read("GET", "requests", request_id))
    return None


def refusal_reason(entry: Mapping[str, Any]) -> str | None:
    """Return the reason of the last refusal in an entry of the journal, None without one."""
    refused = [one["reason"] for one in entry["decisions"] if one["verdict"] != "ok"]
    return str(refused[-1]) if refused else None
