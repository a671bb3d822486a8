"""Commands to look something up: in a world, in the ledger of clauses, in catalogues."""

import json
import re
import shlex
import webbrowser
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any, Final
from urllib.parse import quote

import click
from pydantic import BaseModel

from sandbox.cli import output
from sandbox.cli.arguments import OPERATION, profile_option
from sandbox.cli.control_client import Remote, RemoteWorld, ServerCommand, WorldCommand, drop_none
from sandbox.cli.platform_client import KEY
from sandbox.control.catalogues import FaultView, TriggerView, card_view, outcome_view
from sandbox.control.ledger import CHECKOUT_COMMAND, read_ledger
from sandbox.domain.payments.cards import CARDS
from sandbox.domain.payments.outcomes import OUTCOMES, TRIGGERS, Operation, Outcome, for_operation
from sandbox.domain.profile import Profile
from sandbox.domain.text import did_you_mean, suggest_words
from sandbox.domain.transport_faults import TRANSPORT_FAULTS

_DETAILED_MAX: Final = 3
"""Up to this many clauses are shown in full."""

_NAMES_MAX: Final = 12
"""The most names to print for a section of the coverage; the JSON has all of them."""

_some_world_option = click.option(
    "--world",
    "world_id",
    envvar="SANDBOX_WORLD",
    help="Only this world (env SANDBOX_WORLD). Default: all worlds of the server.",
)


@click.command(cls=WorldCommand)
@click.option("--name", type=KEY, help="Print only the key with this name.")
@click.option("--env", "is_env", is_flag=True, help="Print lines for a shell: export SANDBOX_KEY=")
def keys(*, name: str | None, is_env: bool, world: RemoteWorld) -> output.Result:
    """Print the API keys of a world's cast.

    Keys are printed in full, because they only work in this sandbox.

    With --env, SANDBOX_KEY is the key of the merchant, or of the member that --name gives, and
    SANDBOX_TERMINAL is that member's terminal. Each key also has its own variable, like
    SANDBOX_KEY_PARTNER.

    \b
    Examples:
      sandbox keys
      sandbox keys --world uat-7 --name merchant
      eval "$(sandbox keys --env)"
    """
    document = world.read("GET")
    chosen = {key_name: key["key"] for key_name, key in document["keys"].items()}
    if name is not None:
        if name not in chosen:
            output.refuse(f"the world {world.id} has no key {name!r}{suggest_words(name, chosen)}")
        chosen = {name: chosen[name]}
    if is_env:
        exports = _exports(document, chosen, name or "merchant")
        return output.Result(chosen, lambda _: output.say_lines(exports))
    if name is not None:
        return output.Result(chosen, chosen[name])
    rows = [{"name": name, "key": key} for name, key in chosen.items()]
    return output.Result(chosen, lambda _: output.show_table(rows, ("name", "key"), is_whole=True))


def _exports(world: dict[str, Any], keys: dict[str, str], usual: str) -> Iterator[str]:
    found = {"SANDBOX_KEY": keys.get(usual), "SANDBOX_TERMINAL": world["terminals"].get(usual)}
    for name, key in keys.items():
        found["SANDBOX_KEY_" + re.sub(r"[^A-Z0-9]", "_", name.upper())] = key
    return (f"export {name}={shlex.quote(value)}" for name, value in found.items() if value)


@click.command(cls=WorldCommand)
@click.argument("key")
@click.argument("operation", required=False)
@click.argument("target", required=False)
def lens(key: str, *, world: RemoteWorld, **asked: str | None) -> output.Result:
    """Show what a key would be answered, and which keys could do it.

    KEY and TARGET are ids or names of the cast, OPERATION is one like payments.capture. Without an
    operation, shows all of them. No request is sent to the platform, and nothing changes. Exits
    with status 1 if the key may not do it.

    \b
    Examples:
      sandbox lens merchant
      sandbox lens merchant_read_only accounts.update merchant
    """
    if asked["operation"] is None:
        return output.Result(world.read("GET", "lens", key), _show_access)
    seen = world.read("POST", "lens", body={"key": key, **drop_none(asked)})
    return output.Result(seen, _show_permission, int(not seen["allowed"]))


def _show_access(table: dict[str, Any]) -> None:
    if table["unusable"]:
        output.say(f"the key authenticates no more: {table['unusable']}")
    output.show_table(table["rows"], ("operation", "own", "descendant", "outside"))


def _show_permission(seen: dict[str, Any]) -> None:
    output.say(f"{seen['status']}  {'allowed' if seen['allowed'] else seen['error']}")
    for one in seen["decisions"]:
        output.say(f"  {one['step']:<12}  {one['verdict']}: {one['reason']} ({one['clause']})")
    if seen["missing"]:
        output.say(f"  missing       {' or '.join(seen['missing'])}")
    could = ", ".join(one["cast"] or one["name"] for one in seen["could"])
    output.say(f"  could         {could or 'no key of this world'}")


@click.command(cls=ServerCommand)
@click.argument("text")
@_some_world_option
def find(text: str, *, world_id: str | None, server: Remote) -> output.Result:
    """Find anything by its id, or payments by the last four digits of a card.

    TEXT is the id of a payment, request, message, batch, key, account, terminal or location, an
    event_id, a name of the cast, or four digits. Exits with status 1 if nothing is found.

    \b
    Examples:
      sandbox find 0011
      sandbox find req_0000000001
    """
    found = server.read("GET", "/find", q=text, world=world_id)
    if not found["found"]:
        return output.Result(found, f"nothing has the id {text!r}", output.EXIT_REFUSED)
    return output.Result(found, _show_found)


def _show_found(found: dict[str, Any]) -> None:
    output.show_table(found["found"], ("world", "kind", "id", "says"))
    if found["more"]:
        output.say("there is more; name the whole id, or a world with --world")


@click.command("open", cls=WorldCommand, json=False)
@click.option("--print", "only_print", is_flag=True, help="Print the address; open no browser.")
def open_console(*, world: RemoteWorld, only_print: bool) -> None:
    """Open the console of a server in a browser.

    The address signs in where the server has a token, so do not share it.

    \b
    Examples:
      sandbox open
      sandbox open --world friday
      sandbox open --print
    """
    world.read("GET")
    token = world.server.token
    signs_in = f"token={quote(token, safe='')}" if token else ""
    address = f"{world.server.address('/')}#{signs_in}/{quote(world.id, safe='')}/overview"
    if not (only_print or webbrowser.open(address)):
        output.refuse("no browser could be opened here; --print shows the address")
    output.say(address if only_print else "opened in your browser")


# --- coverage


@click.command(cls=ServerCommand)
@_some_world_option
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Exit with status 1 if less than this percentage of operations was used.",
)
def coverage(*, world_id: str | None, fail_under: float | None, server: Remote) -> output.Result:
    """Show which parts of the platform were used, and which were not.

    For a server: all worlds since its start, including deleted ones. For a world: since it was
    created or reset.

    \b
    Examples:
      sandbox coverage
      sandbox coverage --world uat-7 --json
      sandbox coverage --fail-under 80
    """
    path = "/coverage" if world_id is None else RemoteWorld(server, world_id).path("coverage")
    found = server.read("GET", path)
    used, never = (len(found["operations"][name]) for name in ("exercised", "never"))
    percent, least = 100 * used / max(used + never, 1), fail_under or 0
    if percent >= least:
        return output.Result(found, _show_coverage)
    why = f"{percent:.1f} % of the operations were exercised, less than {least:g} %"
    return output.Result(found, _show_coverage, output.EXIT_REFUSED, [why])


def _show_coverage(coverage: Mapping[str, Mapping[str, Any]]) -> None:
    """Print a table: how much of each section was exercised, and what never was.

    The test kit, which shares no code with this package, prints the same table.
    """
    titles = {name: name.replace("_", " ") for name in coverage}
    width = max(map(len, titles.values()), default=0)
    indent = " " * (width + 2)
    for name, section in coverage.items():
        done, never = len(section["exercised"]), section["never"]
        total = done + len(never)
        percent = f"{100 * done // total} %" if total else ""
        output.say(f"{titles[name]:<{width}}  {done:>4} of {total:<4} {percent:>5}".rstrip())
        if never:
            rest = len(never) - _NAMES_MAX
            more = f" and {rest} more" if rest > 0 else ""
            text, deeper = f"never: {', '.join(never[:_NAMES_MAX])}{more}", f"{indent}       "
            lines = output.break_words(text, 100, initial_indent=indent, subsequent_indent=deeper)
            output.say_lines(lines)


# --- the ledger of clauses


@click.command(cls=output.ResultCommand)
@click.argument("search", nargs=-1)
@click.option("--unproved", is_flag=True, help="Only clauses that no test proves.")
@profile_option(
    help="TOML file of `sandbox verify`: each clause is shown with the day it was verified."
)
def ledger(search: tuple[str, ...], *, unproved: bool, profile: Profile) -> output.Result:
    """Show the clauses with their code and tests.

    A clause is a rule of the platform's specification, or an assumption where the specification
    is silent. SEARCH selects the clause with that id, or all with that text in id, title or
    summary. Up to three are shown in full. The names of tests are known in a checkout only.
    This command needs no server.

    \b
    Examples:
      sandbox ledger refund
      sandbox ledger "spec 5.1"
      sandbox ledger --unproved
      sandbox ledger D35 --profile verified/uat.toml
    """
    text = " ".join(search)
    clauses = [one.model_dump() for one in read_ledger(text or None, profile.verified).clauses]
    clauses = [clause for clause in clauses if clause["id"].lower() == text.lower()] or clauses
    if not clauses:
        output.refuse(f"no clause has {text!r} in its id, title or summary", output.EXIT_REFUSED)
    if unproved:
        clauses = [one for one in clauses if not (one["proved"] or one["needs_no_proof"])]
    return output.Result({"clauses": clauses, "total": len(clauses)}, _show_clauses)


def _show_clauses(found: Mapping[str, Any]) -> None:
    clauses = found["clauses"]
    if not clauses:
        output.say("a test proves every clause")
    elif len(clauses) <= _DETAILED_MAX:
        for clause in clauses:
            _show_clause(clause)
    else:
        counts = [name for name in ("code", "rows", "tests") if clauses[0][name] is not None]
        days = ["verified"] if any(clause["verified"] for clause in clauses) else []
        rows = [clause | {name: len(clause[name]) for name in counts} for clause in clauses]
        output.show_table(rows, ("id", "title", *counts, *days))
        output.say(f"{output.count_things(len(clauses), 'clause')}; name one to see it whole")


def _show_clause(clause: Mapping[str, Any]) -> None:
    output.say(output.styled(clause["id"], bold=True), f"  {clause['title']}")
    output.say(f"  {clause['summary']}")
    for name in ("fills", "code", "rows", "tests", "parts"):
        output.say_lines(f"  {name:<5}  {value}" for value in clause.get(name) or ())
    if clause["verified"]:
        output.say(f"  verified on the platform on {clause['verified']}")
    if clause["needs_no_proof"]:
        output.say(f"  no proof is needed: {clause['needs_no_proof']}")
    elif clause["tests"] is None and not clause["parts"]:
        told = f"prove it; `{CHECKOUT_COMMAND}` in a checkout of the project names them"
        output.say(f"  tests  {told}")
    output.say()


# --- catalogues that need no server -------------------------------------------------------------

_View = Mapping[str, Any]


@click.command(cls=output.ResultCommand)
@click.argument("search", nargs=-1)
@click.option(
    "--for", "operation", type=OPERATION, help="Only outcomes of this operation, like refund."
)
def outcomes(search: tuple[str, ...], operation: str | None) -> output.Result:
    """List the outcomes of payments and the transport faults.

    SEARCH selects those that contain all its words: a key, a reason, a code, an operation.

    \b
    Examples:
      sandbox outcomes
      sandbox outcomes funds
      sandbox outcomes --for refund
      sandbox outcomes --for capture declined
    """
    rows: Iterable[Outcome | None] = OUTCOMES.values()
    if operation is not None:
        rows = (for_operation(key, Operation(operation)) for key in OUTCOMES)
    found = _search(map(outcome_view, filter(None, rows)), search)
    faults = _search(map(FaultView.of, TRANSPORT_FAULTS.values()), search)
    _expect("outcome", search, [*OUTCOMES, *TRANSPORT_FAULTS], found or faults)
    return output.Result({"outcomes": found, "total": len(found), "faults": faults}, _show_outcomes)


def _show_outcomes(value: _View) -> None:
    found, faults = value["outcomes"], value["faults"]
    if found:
        columns: output.Columns = {
            "outcome": "key",
            "status": "status",
            "reason": "status_reason",
            "code": "processor_response_code",
            "message": "message",
            "operations": lambda view: ", ".join(view["operations"]),
        }
        output.show_table(found, columns, drops=("message", "operations", "code"))
    if found and faults:
        output.say()
    if faults:
        output.show_table(faults, {"fault": "key", "when": "when", "effect": "effect"})


@click.command(cls=output.ResultCommand)
@click.argument("search", nargs=-1)
def cards(search: tuple[str, ...]) -> output.Result:
    """List the test cards with the answers of their issuers.

    \b
    Examples:
      sandbox cards
      sandbox cards visa debit
    """
    found = _search(map(card_view, CARDS.values()), search)
    _expect("card", search, CARDS, found)
    return output.Result({"cards": found, "total": len(found)}, _show_cards)


def _show_cards(value: _View) -> None:
    names = ("token", "number", "brand", "type", "outcome", "above_amount")
    columns: output.Columns = {
        **{name.replace("_", " "): name for name in names},
        "later": lambda view: ", ".join(f"{op}: {key}" for op, key in view["later"].items()),
    }
    output.show_table(value["cards"], columns, drops=("later", "above amount", "type"))


@click.command(cls=output.ResultCommand)
@click.argument("search", nargs=-1)
def amounts(search: tuple[str, ...]) -> output.Result:
    """List the amounts that choose an outcome.

    Amounts are in minor units.

    \b
    Examples:
      sandbox amounts
      sandbox amounts 900051
      sandbox amounts settlement
    """
    found = _search(map(TriggerView.of, TRIGGERS.values()), search)
    _expect("amount", search, (row.key for row in TRIGGERS.values()), found)
    columns = ("amount", "kind", "key", "operation", "about")
    value = {"triggers": found, "total": len(found)}
    return output.Result(value, lambda _: output.show_table(found, columns))


triggers = copy(amounts)
"""The command under its earlier name, which lists of commands leave out."""
triggers.name, triggers.hidden = "triggers", True


_ALSO = dict.fromkeys(("timeout", "time-out", "timeouts"), "timed_out")
"""Words to look for as well."""


def _search(entries: Iterable[BaseModel], search: Sequence[str]) -> list[_View]:
    """Return the entries that contain every word, in upper or lower case."""
    views = [entry.model_dump(mode="json") for entry in entries]
    words = [word.lower() for word in " ".join(search).split()]

    def has(view: _View, word: str) -> bool:
        text = json.dumps(list(view.values())).lower()
        return word in text or _ALSO.get(word, word) in text

    return [view for view in views if all(has(view, word) for word in words)]


def _expect(what: str, search: Sequence[str], known: Iterable[str], found: list[_View]) -> None:
    """End the command if nothing is found."""
    if not found:
        words = " ".join(search)
        said = f"no {what} has {words!r} in it{did_you_mean(words, known)}"
        output.refuse(said, output.EXIT_REFUSED)
