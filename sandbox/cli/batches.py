"""`sandbox batch`: lists, opens, closes and answers the batches of terminals."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from sandbox.cli import output
from sandbox.cli.arguments import FILE, REASON, RESULT, quote_word, several
from sandbox.cli.control_client import RemoteWorld, WorldCommand, drop_none, with_options
from sandbox.cli.files import print_bytes
from sandbox.cli.main import Group
from sandbox.cli.platform_client import ACCOUNT, ActorCommand, Stage, terminal_option
from sandbox.domain.currencies import in_units


@click.group(cls=Group)
def batch() -> None:
    """List, open, close and answer batches."""


@batch.command(name="list", cls=ActorCommand)
@terminal_option
def list_all(*, terminal: str | None, stage: Stage) -> output.Result:
    """List the batches that a member sees, the newest first.

    Without --as, the merchant's.

    \b
    Examples:
      sandbox batch list
      sandbox batch list --as partner
    """
    member = stage.member()
    at = None if terminal is None else stage.terminal(terminal, member)
    # The platform lists at most 500 at once.
    listed = stage.must(member, "GET", "/v1/batches", limit=500, terminal_id=at)

    def show(_: Any) -> None:
        columns = _columns(stage.currencies_of_batches())
        output.show_table(listed["batches"], columns, empty=f"{member.name} sees no batch")
        if more := listed["total"] - len(listed["batches"]):
            hint = "" if at else "; --terminal lists those of one terminal"
            output.say(f"and {more:,} more{hint}")

    return output.Result(listed, show)


def _rejection(batch: Mapping[str, Any]) -> str | None:
    """Return the processor's response to a batch as one text; None without a response."""
    response = batch["response"] or {}
    if "rejection_reason" in response:
        return str(response["rejection_reason"])
    return ", ".join(f"{value} {name}" for name, value in response.items()) or None


def _columns(currencies: Mapping[str, str]) -> output.Columns:
    """Return the columns of a list of batches, whose currencies are given by their ids."""
    return {
        "batch": "id",
        "status": "status",
        "payments": "transaction_count",
        "captured": lambda one: in_units(one["captured_amount"], currencies.get(one["id"])),
        "refunded": lambda one: in_units(one["refunded_amount"], currencies.get(one["id"])),
        "opened": "opened_at",
        "response": _rejection,
    }


def _show_batch(stage: Stage, batch: Mapping[str, Any], step: str | None = None) -> None:
    """Print a batch on one line, which a narrow terminal wraps between its parts."""
    currency = stage.remote.read("GET", "batches", batch["id"])["batch"]["currency"]
    parts = [
        batch["id"],
        output.styled_status(batch["status"]),
        output.count_things(batch["transaction_count"], "payment"),
        f"captured {in_units(batch['captured_amount'], currency)}",
        f"refunded {in_units(batch['refunded_amount'], currency)}",
        _rejection(batch),
        step,
    ]
    output.say_parts(filter(None, parts))


@batch.command(name="open", cls=ActorCommand)
@terminal_option
def open_one(*, terminal: str | None, stage: Stage) -> output.Result:
    """Open a batch of a terminal. The first capture opens one automatically.

    \b
    Example:
      sandbox batch open
    """
    member = stage.member()
    body = {"terminal_id": stage.terminal(terminal, member)}
    opened = stage.must(member, "POST", "/v1/batches/open", body)
    return output.Result(opened, partial(_show_batch, stage))


@batch.command(cls=ActorCommand)
@click.argument("batch", required=False)
@terminal_option
def close(*, batch: str | None, terminal: str | None, stage: Stage) -> output.Result:
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
    if batch is not None:
        id, member = stage.batch(batch, "opened")
    else:
        member = stage.member()
        at = stage.terminal(terminal, member)
        query: dict[str, Any] = {"terminal_id": at, "statuses": "open", "limit": 1}
        opened = stage.must(member, "GET", "/v1/batches", **query)["batches"]
        if not opened:
            said = f"terminal {quote_word(at)} has no open batch; a captured payment opens one"
            output.refuse(said, output.EXIT_REFUSED)
        id = opened[0]["id"]

    def show(closed: Mapping[str, Any]) -> None:
        whose = stage.options_of(member, closed["terminal_id"])
        steps = [f"sandbox batch list{whose}"]
        if stage.remote.read("GET", "agenda", subject=closed["id"])["total"]:
            steps.insert(0, "sandbox clock advance --next")
        if stage.remote.read("GET", "switches")["batch.settlement"] == "manual":
            steps = ["sandbox batch answer last accepted"]
        step = ", ".join(map(with_options, steps))
        _show_batch(stage, closed, f"next: {step}" if closed["status"] == "submitted" else None)

    return output.Result(stage.must(member, "POST", f"/v1/batches/{id}/close"), show)


@batch.command(cls=ActorCommand)
@click.argument("batch")
@click.argument("result", type=RESULT)
@click.option("--reason", type=REASON, metavar="REASON", help="Why it is rejected: comms, ...")
@several("--rejected", metavar="PAYMENT", help="Payment that is rejected, for partially_accepted.")
def answer(
    batch: str, result: str, *, reason: str | None, rejected: tuple[str, ...], stage: Stage
) -> output.Result:
    """Give the submitted BATCH its RESULT: accepted, rejected or partially_accepted.

    BATCH is an id, the beginning of an id, or `last`: the last one submitted. A batch gets its
    result on its own, unless the switch batch.settlement is manual.

    \b
    Examples:
      sandbox batch answer last accepted
      sandbox batch answer acecb76c rejected --reason comms
      sandbox batch answer acecb76c partially_accepted --rejected 38b4
    """
    if reason is not None and result != "rejected":
        raise click.UsageError("--reason is only for the result rejected")
    if bool(rejected) != (result == "partially_accepted"):
        raise click.UsageError(
            "--rejected is required for the result partially_accepted, and only for that"
        )
    id, _ = stage.batch(batch, "submitted")
    payments = [stage.payment(one).id for one in rejected]
    given = {"answer": result, "reason": reason, "rejected": payments}
    body = {name: value for name, value in given.items() if value}
    answered = stage.remote.read("POST", "batches", id, "answer", body=body)
    return output.Result(answered, partial(_show_batch, stage))


@batch.command(cls=ActorCommand)
@click.argument("batch")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, a row for each record.")
@click.option("--output", "file", type=FILE, metavar="FILE", help="Write the CSV into a file.")
def report(batch: str, *, as_csv: bool, file: Path | None, stage: Stage) -> output.Result:
    """Print the settlement of BATCH: each record with its amount and the processor's result.

    BATCH is an id, the beginning of an id, or `last`: the last one opened.

    \b
    Examples:
      sandbox batch report last
      sandbox batch report acecb76c --csv --output settlement.csv
    """
    world, (id, _) = stage.remote, stage.batch(batch, "opened")
    detail = world.read("GET", "batches", id)
    if not (as_csv or file):
        return output.Result(detail, _show_settlement)
    content = world.server.ask("GET", world.path("batches", id, format="csv")).content
    if file is None:
        return output.Result(detail, lambda _: print_bytes(content))
    output.write_file(file, content, option="--output ")
    records = output.count_things(len(detail["records"]), "record")
    return output.Result(detail, f"{records} in {file}")


def _show_settlement(detail: Mapping[str, Any]) -> None:
    """Print the records of a batch, and the batch below them."""
    columns: output.Columns = {
        "transaction": lambda one: one["record_id"] or one["transaction_id"],
        "kind": "kind",
        "amount": lambda one: in_units(one["amount"], detail["batch"]["currency"]),
        "card": lambda one: f"{one['brand']} {one['last4']}",
        "at": "at",
        "result": "result",
    }
    output.show_table(detail["records"], columns)
    output.say(f"{detail['batch']['id']}  {detail['batch']['status']}: {detail['why']}")


@click.command(cls=WorldCommand)
@click.argument("file", type=FILE)
@click.option(
    "--account",
    type=ACCOUNT,
    metavar="NAME",
    help="Account that the file is about: its name or id.",
)
@click.option("--batch", metavar="ID", help="Batch that the file is about.")
@click.option("--status", metavar="WORDS", help="Statuses in the file, such as captured.")
def reconcile(file: Path, *, world: RemoteWorld, **about: str | None) -> output.Result:
    """Compare the transactions of a world with those in FILE.

    FILE is your own CSV or JSON file. Each row has a transaction_id or an event_id, and optionally
    an amount and a status. The exit status is 1 if there are differences.

    \b
    Examples:
      sandbox reconcile ledger.csv
      sandbox reconcile refunds.json --account merchant --status refunded --json
    """
    body = {"text": output.read_text(file), **drop_none(about)}
    found = world.read("POST", "reconciliation", body=body)
    return output.Result(found, _show_differences, int(bool(found["differences"])))


def _show_differences(found: Mapping[str, Any]) -> None:
    """Print the differences of a reconciliation, and their number."""
    columns: output.Columns = {
        "difference": lambda one: one["kind"].replace("_", " "),
        "line": "line",
        "transaction": "transaction_id",
        "event": "event_id",
        **{name: name for name in ("there", "here")},
    }
    if found["differences"]:
        output.show_table(found["differences"], columns)
    said = f"{output.count_things(found['rows'], 'row')}, {found['matched']} as in the sandbox"
    if found["ignored_columns"]:
        said += f"; not compared: {', '.join(found['ignored_columns'])}"
    output.say(f"{said}; {output.count_things(len(found['differences']), 'difference')}")
