"""`sandbox batch`: lists, opens, closes and answers the batches of terminals."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from sandbox.cli.arguments import FILE, REASON, RESULT, quote_word
from sandbox.cli.control_client import RemoteWorld, WorldCommand
from sandbox.cli.files import print_bytes
from sandbox.cli.main import Group
from sandbox.cli.output import (
    EXIT_REFUSED,
    Columns,
    Result,
    count_things,
    listing,
    read_text,
    refuse,
    say,
    say_parts,
    show_table,
    styled_status,
    write_file,
)
from sandbox.cli.platform_client import ActorCommand, Member, Stage, terminal_option
from sandbox.domain.currencies import in_units

_BATCHES_MAX: Final = 500
"""The longest list that the platform gives at once."""


@click.group(cls=Group)
def batch() -> None:
    """List, open, close and answer batches."""


@batch.command(name="list", cls=ActorCommand)
@terminal_option
def list_all(*, terminal: str | None, stage: Stage) -> Result:
    """List the batches that a member sees, the newest first.

    Without --as, the merchant's.

    \b
    Examples:
      sandbox batch list
      sandbox batch list --as partner
    """
    member = stage.member()
    query = f"limit={_BATCHES_MAX}"
    if terminal is not None:
        query += f"&terminal_id={stage.terminal(terminal, member)}"
    listed = stage.must(member, "GET", f"/v1/batches?{query}")
    return Result(listed, listing("batches", _COLUMNS, empty=f"{member.name} sees no batch"))


def _rejection(batch: Mapping[str, Any]) -> str | None:
    """Return what the processor said of a batch, in one text; None if it said nothing."""
    response = batch["response"] or {}
    return ", ".join(str(value) for value in response.values()) or None


_COLUMNS: Final[Columns] = {
    "batch": "id",
    "status": "status",
    "payments": "transaction_count",
    "captured": lambda one: in_units(one["captured_amount"]),
    "refunded": lambda one: in_units(one["refunded_amount"]),
    "opened": "opened_at",
    "response": _rejection,
}


def _show_batch(batch: Mapping[str, Any]) -> None:
    """Print a batch in one line, which a narrow terminal wraps between its parts."""
    step = "next: sandbox clock advance 1m, sandbox batch list"
    parts = [
        batch["id"],
        styled_status(batch["status"]),
        count_things(batch["transaction_count"], "payment"),
        f"captured {in_units(batch['captured_amount'])}",
        f"refunded {in_units(batch['refunded_amount'])}",
        _rejection(batch),
        step if batch["status"] == "submitted" else None,
    ]
    say_parts(filter(None, parts))


@batch.command(name="open", cls=ActorCommand)
@terminal_option
def open_one(*, terminal: str | None, stage: Stage) -> Result:
    """Open a batch of a terminal. A first capture opens one by itself.

    \b
    Example:
      sandbox batch open
    """
    member = stage.member()
    body = {"terminal_id": stage.terminal(terminal, member)}
    return Result(stage.must(member, "POST", "/v1/batches/open", body), _show_batch)


@batch.command(cls=ActorCommand)
@click.argument("batch", required=False)
@terminal_option
def close(*, batch: str | None, terminal: str | None, stage: Stage) -> Result:
    """Submit BATCH to the processor.

    BATCH is an id, the beginning of an id, or `last`: the last one opened. Without it, the open
    batch of the terminal is closed: the merchant's, or that of --as or --terminal.

    \b
    Examples:
      sandbox batch close
      sandbox batch close acecb76c
      sandbox batch close --as second_merchant
    """
    if batch is not None and terminal is not None:
        raise click.UsageError("give BATCH or --terminal, not both")
    if batch is None:
        member = stage.member()
        id = _open_batch(stage, member, stage.terminal(terminal, member))
    else:
        id, member = stage.batch(batch, "opened")
    return Result(stage.must(member, "POST", f"/v1/batches/{id}/close"), _show_batch)


@batch.command(cls=ActorCommand)
@click.argument("batch")
@click.argument("result", type=RESULT, metavar="RESULT")
@click.option("--reason", type=REASON, metavar="REASON", help="Why it is rejected: comms, ...")
@click.option(
    "--rejected",
    multiple=True,
    metavar="PAYMENT",
    help="Payment that is rejected, for partially_accepted. May be given several times.",
)
def answer(
    batch: str, result: str, *, reason: str | None, rejected: tuple[str, ...], stage: Stage
) -> Result:
    """Give the submitted BATCH its RESULT: accepted, rejected or partially_accepted.

    BATCH is an id, the beginning of an id, or `last`: the last one submitted. It gets its result by
    itself, unless the switch batch.settlement is manual.

    \b
    Examples:
      sandbox batch answer last accepted
      sandbox batch answer acecb76c rejected --reason comms
      sandbox batch answer acecb76c partially_accepted --rejected 38b4
    """
    if reason is not None and result != "rejected":
        raise click.UsageError("--reason belongs to the result rejected")
    if bool(rejected) != (result == "partially_accepted"):
        raise click.UsageError(
            "--rejected belongs to the result partially_accepted, which needs it"
        )
    id, _ = stage.batch(batch, "submitted")
    payments = [stage.payment(one).id for one in rejected]
    given = {"answer": result, "reason": reason, "rejected": payments}
    body = {name: value for name, value in given.items() if value}
    return Result(stage.remote.read("POST", "batches", id, "answer", body=body), _show_batch)


@batch.command(cls=ActorCommand)
@click.argument("batch")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, a row for each record.")
@click.option("--output", type=FILE, metavar="FILE", help="Write the CSV into a file.")
def report(batch: str, *, as_csv: bool, output: Path | None, stage: Stage) -> Result:
    """Print the settlement of BATCH: each record with its amount and the processor's result.

    BATCH is an id, the beginning of an id, or `last`: the last one opened.

    \b
    Examples:
      sandbox batch report last
      sandbox batch report acecb76c --csv --output settlement.csv
    """
    world, (id, _) = stage.remote, stage.batch(batch, "opened")
    detail = world.read("GET", "batches", id)
    if not (as_csv or output):
        return Result(detail, _show_settlement)
    text = world.server.ask("GET", world.path("batches", id, format="csv")).text
    if output is None:
        return Result(detail, lambda _: print_bytes(text.encode()))
    write_file(output, text, option="--output ")
    return Result(detail, f"{count_things(len(detail['records']), 'record')} in {output}")


def _show_settlement(detail: Mapping[str, Any]) -> None:
    """Print the records of a batch, and the batch below them."""
    show_table(detail["records"], _RECORD_COLUMNS)
    say(f"{detail['batch']['id']}  {detail['batch']['status']}: {detail['why']}")


_RECORD_COLUMNS: Final[Columns] = {
    "transaction": lambda one: one["record_id"] or one["transaction_id"],
    "kind": "kind",
    "amount": lambda one: in_units(one["amount"]),
    "card": lambda one: f"{one['brand']} {one['last4']}",
    "at": "at",
    "result": "result",
}


@click.command(cls=WorldCommand)
@click.argument("file", type=FILE)
@click.option("--account", metavar="NAME", help="Account of the file: its name or id.")
@click.option("--batch", metavar="ID", help="Batch of the file.")
@click.option("--status", metavar="WORDS", help="Statuses that the file has, such as captured.")
def reconcile(file: Path, *, world: RemoteWorld, **about: str | None) -> Result:
    """Compare the transactions of a world with those in FILE.

    FILE is a CSV or JSON of your own. A row has a transaction_id or an event_id, and an amount and
    a status, if you like. The exit status is 1 if there are differences.

    \b
    Examples:
      sandbox reconcile ledger.csv
      sandbox reconcile refunds.json --account merchant --status refunded --json
    """
    body = {"text": read_text(file)} | {name: one for name, one in about.items() if one is not None}
    found = world.read("POST", "reconciliation", body=body)
    return Result(found, _show_differences, EXIT_REFUSED if found["differences"] else 0)


def _show_differences(found: Mapping[str, Any]) -> None:
    """Print the differences of a reconciliation, and their number."""
    if found["differences"]:
        show_table(found["differences"], _DIFFERENCE_COLUMNS)
    said = f"{count_things(found['rows'], 'row')}, {found['matched']} as in the sandbox"
    if found["ignored_columns"]:
        said += f"; not compared: {', '.join(found['ignored_columns'])}"
    say(f"{said}; {count_things(len(found['differences']), 'difference')}")


_DIFFERENCE_COLUMNS: Final[Columns] = {
    "difference": lambda one: one["kind"].replace("_", " "),
    "line": "line",
    "transaction": "transaction_id",
    "event": "event_id",
    "there": "there",
    "here": "here",
}


def _open_batch(stage: Stage, member: Member, terminal: str) -> str:
    """Return the id of the terminal's open batch. Ends the command if it has none."""
    query = f"terminal_id={terminal}&statuses=open&limit=1"
    listed = stage.must(member, "GET", f"/v1/batches?{query}")["batches"]
    if not listed:
        refuse(
            f"terminal {quote_word(terminal)} has no open batch; a captured payment opens one",
            EXIT_REFUSED,
        )
    return str(listed[0]["id"])
