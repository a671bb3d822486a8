"""`sandbox pay`, `tap`, `next`, and the actions on a payment: `capture`, `refund` and others."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import click
from httpx2 import Response

from sandbox.cli import arguments
from sandbox.cli.control_client import RemoteWorld, WorldCommand
from sandbox.cli.output import (
    EXIT_REFUSED,
    Columns,
    Result,
    listing,
    refuse,
    say_parts,
    show_json,
    styled_status,
    working,
)
from sandbox.cli.platform_client import (
    OUTCOME_HEADER,
    USUAL,
    ActorCommand,
    Member,
    Stage,
    json_of,
    open_stage,
    terminal_option,
)
from sandbox.domain.currencies import format_amount, in_units

_SHORT: Final = 8
"""The characters of an id that are enough to name it in a command."""

_NEXT: Final[Mapping[str, str]] = {
    "authorized": "sandbox capture {id}",
    "captured": "sandbox batch close {batch}",
    "settled": "sandbox refund {id}",
    "pending": "sandbox tap",
    "surcharge_pending": "sandbox confirm {id} yes",
    **dict.fromkeys(("declined", "error"), "sandbox tail --no-follow --limit 1"),
}
"""What one usually does with a payment of this status; nothing if it is not here."""


_ANSWER: Final = arguments.KnownType({"yes": "accept it", "no": "decline it"}, "ANSWER")


def _parse_currency(value: str) -> str:
    """Return the code in capitals."""
    if not (len(value) == 3 and value.isascii() and value.isalpha()):
        raise ValueError("write three letters, like USD")
    return value.upper()


@click.command(cls=ActorCommand, json="flag")
@click.argument("amount", type=arguments.AMOUNT)
@click.option("--card", type=arguments.CARD, metavar="CARD", help="Test card, like tok_mc_prepaid.")
@terminal_option
@click.option(
    "--outcome",
    type=arguments.OUTCOME,
    metavar="OUTCOME",
    help="Outcome of this payment, like lost_card.",
)
@click.option("--auth", "--hold", "is_auth", is_flag=True, help="Only authorize, to capture later.")
@click.option("--tip", type=arguments.AMOUNT_OR_ZERO, help="Tip on top of AMOUNT.")
@click.option(
    "--currency",
    type=arguments.ParsedType("CODE", _parse_currency),
    help="Currency. Default: the terminal's.",
)
@click.option("--event-id", help="The event_id, to repeat a payment.")
def pay(
    amount: str,
    *,
    terminal: str | None,
    outcome: str | None,
    is_auth: bool,
    actor: str | None,
    world: RemoteWorld,
    as_json: bool,
    **more: str | None,
) -> None:
    """Take a payment of AMOUNT, and print its result.

    AMOUNT is in units of the currency: 10 is 10.00 dollars. The merchant acts, at its own
    terminal. A member without a key acts through its parent. If the payment waits for a card, tap
    one with `sandbox tap` in another shell.

    A declined payment is a result, with exit status 0. The exit status is 1 if the platform
    refuses the request.

    \b
    Examples:
      sandbox pay 10.00
      sandbox pay 80 --card tok_mc_prepaid
      sandbox pay 25 --auth --as second_merchant
      sandbox pay 10 --outcome insufficient_funds
    """
    body = _body(amount, **more)
    stage = open_stage(world)
    member = stage.member(actor)
    body["terminal_id"] = stage.terminal(terminal, member)
    path = "/v3/preauth" if is_auth else "/v3/payment"
    with working("waiting for the platform; if it waits for a card, `sandbox tap` shows it"):
        reply = stage.ask(member, "POST", path, body, outcome=outcome)
    _show(stage, reply, member, as_json=as_json)


def _body(
    amount: str, *, card: str | None, tip: str | None, currency: str | None, event_id: str | None
) -> dict[str, Any]:
    """Return the body of the payment, without its terminal."""
    subtotal = arguments.units_of(amount, currency, "AMOUNT")
    body: dict[str, Any] = {"amount": subtotal, "currency": currency, "event_id": event_id}
    if tip is not None:
        tip_amount = arguments.units_of(tip, currency, "--tip")
        body["amount"] = subtotal + tip_amount
        body["breakdown"] = {"subtotal": subtotal, "tipAmount": tip_amount}
    if card is not None:
        body["card_reader_data"] = {"paymentCardData": card}
    return {name: value for name, value in body.items() if value is not None}


def _show(stage: Stage, reply: Response, member: Member, *, as_json: bool) -> None:
    """Print a payment in one line, which a narrow terminal wraps between its parts.

    The parts are its id, status and reason, amounts, card, and the next step. If it failed, the
    line says what chose the outcome. Ends the command if the platform refused.
    """
    if as_json:
        show_json(json_of(reply))
    payment = stage.must(reply)
    if as_json:
        return
    parts = [
        payment["transaction_id"],
        styled_status(payment["status"], payment["status_reason"]),
        _amounts(payment),
        f"{payment['card_brand']} {payment['card']}",
    ]
    if payment["status"] in ("declined", "error") and OUTCOME_HEADER in reply.headers:
        parts.append(_describe_choice(reply.headers[OUTCOME_HEADER]))
    if step := _next(payment, "" if member.name == USUAL else f" --as {member.name}"):
        parts.append(f"next: {step}")
    say_parts(parts)


def _amounts(payment: Mapping[str, Any]) -> str:
    currency = payment["currency"]
    total = format_amount(payment["total_amount"], currency)
    details = payment["additional_details"]
    notes = [
        f"{name.removesuffix('_amount')} {in_units(payment[name], currency)}"
        for name in ("tax_amount", "tip_amount", "surcharge_amount", "refunded", "reversed")
        if payment[name]
    ]
    if "remaining_amount" in details:
        notes.insert(0, f"{in_units(details['remaining_amount'], currency)} still to pay")
    return f"{total} ({', '.join(notes)})" if notes else total


def _describe_choice(outcome: str) -> str:
    """`insufficient_funds; source=amount; rule=900051` in words."""
    key, *rest = outcome.split("; ")
    named = dict(part.split("=", 1) for part in rest if "=" in part)
    source = named.get("source", "")
    rule = named.get("rule", "").removeprefix(f"{source}:")
    by = f"{source} {rule}" if rule not in ("", source) else source
    return f"{key}, chosen by the {by}" if by else key


def _next(payment: Mapping[str, Any], who: str) -> str:
    """Return the command for what one usually does next; nothing if there is none."""
    remaining = payment["additional_details"].get("remaining_amount")
    if remaining and payment["status"] in ("captured", "authorized"):
        return f"sandbox pay {in_units(remaining, payment['currency'])}{who}"
    batch = (payment["batch_id"] or "")[:_SHORT]
    step = _NEXT.get(payment["status"], "")
    return step.format(id=payment["transaction_id"][:_SHORT], batch=batch).rstrip()


# --- actions on a payment


def _on_a_payment(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what all actions take: the payment, and the outcome."""
    option = click.option(
        "--outcome", type=arguments.OUTCOME, metavar="OUTCOME", help="Outcome of this action."
    )
    return click.argument("payment")(option(command))


@click.command(cls=ActorCommand, json="flag")
@_on_a_payment
@click.argument("amount", required=False, type=arguments.AMOUNT)
@click.option(
    "--tip", type=arguments.AMOUNT_OR_ZERO, help="Tip that is captured too; AMOUNT includes it."
)
def capture(amount: str | None, tip: str | None, **options: Any) -> None:
    """Capture an authorized PAYMENT: all of it, or AMOUNT.

    PAYMENT is an id, the beginning of an id, or `last`.

    \b
    Examples:
      sandbox capture last
      sandbox capture 38b4 30.00 --tip 5.00
    """

    def body(currency: str | None) -> dict[str, Any]:
        given = {} if tip is None else {"tip_amount": arguments.units_of(tip, currency, "--tip")}
        return _amount(amount, currency) | given

    _act("capture", body, **options)


@click.command(cls=ActorCommand, json="flag")
@_on_a_payment
@click.argument("amount", type=arguments.AMOUNT)
def increment(amount: str, **options: Any) -> None:
    """Add AMOUNT to an authorized PAYMENT.

    PAYMENT is an id, the beginning of an id, or `last`.

    \b
    Example:
      sandbox increment last 5.00
    """
    _act("auth", lambda currency: _amount(amount, currency), **options)


@click.command(cls=ActorCommand, json="flag")
@_on_a_payment
@click.argument("amount", required=False, type=arguments.AMOUNT)
def refund(amount: str | None, **options: Any) -> None:
    """Refund a PAYMENT: all that remains, or AMOUNT.

    PAYMENT is an id, the beginning of an id, or `last`.

    \b
    Examples:
      sandbox refund last
      sandbox refund 38b4 2.50
    """
    _act("refund", lambda currency: _amount(amount, currency), **options)


@click.command(cls=ActorCommand, json="flag")
@_on_a_payment
@click.argument("amount", required=False, type=arguments.AMOUNT)
def reverse(amount: str | None, **options: Any) -> None:
    """Reverse a PAYMENT before it is settled: all that remains, or AMOUNT.

    PAYMENT is an id, the beginning of an id, or `last`.

    \b
    Examples:
      sandbox reverse last
      sandbox reverse 38b4 2.50
    """
    _act("reverse", lambda currency: _amount(amount, currency), **options)


@click.command(cls=ActorCommand, json="flag")
@_on_a_payment
@click.argument("tip", type=arguments.TIP)
def tip(tip: str, **options: Any) -> None:
    """Set the tip of a captured PAYMENT to TIP, an amount or a percentage.

    PAYMENT is an id, the beginning of an id, or `last`.

    \b
    Examples:
      sandbox tip last 2.00
      sandbox tip last 18%
    """

    def body(currency: str | None) -> dict[str, Any]:
        if tip.endswith("%"):
            return {"type": "percentage", "percentage": float(tip[:-1])}
        return {"type": "fixed", "amount": arguments.units_of(tip, currency, "TIP")}

    _act("adjust", body, **options)


@click.command(cls=ActorCommand, json="flag")
@_on_a_payment
@click.argument("answer", type=_ANSWER, metavar="yes|no")
def confirm(answer: str, **options: Any) -> None:
    """Tell whether the cardholder accepts the surcharge of a PAYMENT.

    PAYMENT is an id, the beginning of an id, or `last`.

    \b
    Examples:
      sandbox confirm last yes
      sandbox confirm last no
    """
    _act("confirm", lambda currency: {"confirm": answer == "yes"}, **options)


def _amount(text: str | None, currency: str | None) -> dict[str, Any]:
    return {} if text is None else {"amount": arguments.units_of(text, currency, "AMOUNT")}


def _act(
    segment: str,
    body: Callable[[str | None], dict[str, Any]],
    *,
    payment: str,
    outcome: str | None,
    actor: str | None,
    world: RemoteWorld,
    as_json: bool,
) -> None:
    """Carry out an action on the payment. `body` gives its body for the payment's currency."""
    if "." in payment:
        raise click.UsageError(
            f"{arguments.quote_word(payment)} is not a payment; name it before the amount: "
            "an id, the beginning of an id, or `last`"
        )
    stage = open_stage(world)
    found = stage.payment(payment, actor)
    path = f"/v3/payments/{found.id}/{segment}"
    reply = stage.ask(found.member, "POST", path, body(found.currency), outcome=outcome)
    _show(stage, reply, found.member, as_json=as_json)


# --- cards and outcomes


@click.command(cls=ActorCommand)
@click.argument("payment")
@click.argument("outcome", default="approved", type=arguments.SOME_OUTCOME)
@click.option("--event-id", help="Attempt to answer. Default: the newest one that waits.")
def answer(
    payment: str, outcome: str, *, event_id: str | None, actor: str | None, world: RemoteWorld
) -> Result:
    """Answer an attempt at a PAYMENT that timed out, late, as the processor.

    PAYMENT is an id, the beginning of an id, or `last`. What timed out is carried out by it:
    the sale, the refund, or any other action. With a decline as OUTCOME it stays undone.

    \b
    Examples:
      sandbox answer last
      sandbox answer 38b4 do_not_honor --event-id refund-1
    """
    id = open_stage(world).payment(payment, actor).id
    body = {"outcome": outcome, "event_id": event_id}
    told = world.read("POST", "payments", id, "answer", body=body)
    return Result(told, _show_answered)


def _show_answered(told: Mapping[str, Any]) -> None:
    """Print the payment with the attempt that was answered, which is its last one now."""
    payment = told["payment"]
    attempt = next(one["says"] for one in reversed(told["story"]) if one["kind"] == "attempt")
    say_parts([payment["transaction_id"], attempt, _amounts(payment)])


@click.command(cls=WorldCommand)
@click.argument("id", required=False)
@click.option("--card", type=arguments.SOME_CARD, help="Tap this test card, like tok_visa_credit.")
@click.option("--outcome", type=arguments.SOME_OUTCOME, help="Outcome of the payment.")
@click.option(
    "--cancel", type=click.Choice(["user", "merchant"]), help="Cancel it as the user or merchant."
)
def tap(id: str | None, *, world: RemoteWorld, **choice: str | None) -> Result:
    """Tap a card for a waiting payment.

    Without options, lists the waiting payments. ID is the payment's; you can leave it out if only
    one waits. Payments wait if a scenario says tap = "wait".

    \b
    Examples:
      sandbox tap
      sandbox tap --card tok_visa_debit
      sandbox tap 3fa85f64-5717-4562-b3fc-2c963f66afa6 --cancel user
    """
    body = {name: value for name, value in choice.items() if value is not None}
    if len(body) > 1 or (id is not None and not body):
        raise click.UsageError("give one of --card, --outcome and --cancel")
    waiting = world.read("GET", "taps")
    if not body:
        return Result(waiting, _show_waiting)
    id = id or _only_waiting(waiting["taps"])
    ended = world.read("POST", "taps", id, body=body)
    why = f": {ended['status_reason']}" if ended["status_reason"] else ""
    return Result(ended, f"{ended['transaction_id']}  {ended['status']}{why}")


_TAP_COLUMNS: Final[Columns] = {
    "transaction id": "transaction_id",
    "operation": "operation",
    "amount": lambda tap: format_amount(tap["amount"], tap["currency"]),
    "terminal id": "terminal_id",
    "since": "since",
    "until": "until",
}
_show_waiting: Final = listing(
    "taps", _TAP_COLUMNS, empty="no payment waits for a tap", is_whole=True
)


def _only_waiting(taps: list[dict[str, Any]]) -> str:
    if not taps:
        refuse("no payment waits for a tap", EXIT_REFUSED)
    if len(taps) > 1:
        ids = ", ".join(tap["transaction_id"] for tap in taps)
        refuse(f"{len(taps)} payments wait; name one: {ids}", EXIT_REFUSED)
    return str(taps[0]["transaction_id"])


@click.command(name="next", cls=WorldCommand)
@click.argument("outcome", required=False, type=arguments.SOME_OUTCOME)
@click.option(
    "--operation",
    type=arguments.SOME_OPERATION,
    help="Only for this operation: sale, capture, refund, ..., or any other like apikeys.create.",
)
@click.option("--method", help="Only for requests with this method.")
@click.option("--path", help="Only for requests with this path, with * for any text.")
@click.option("--amount", type=click.IntRange(1), help="Only for this amount, in minor units.")
@click.option("--delay-ms", type=click.IntRange(0), help="Time that the processor takes.")
@click.option(
    "--fault", type=arguments.SOME_FAULT, help="Transport fault, like drop_after or http_503."
)
@click.option(
    "--approved-amount", type=click.IntRange(1), help="For partial_approval, in minor units."
)
@click.option("--clear", is_flag=True, help="Clear the queue.")
def next_outcome(*, clear: bool, world: RemoteWorld, **entry: Any) -> Result:
    """Set the outcome of the next payment, or the fault of the next request.

    It applies once, to the next request that matches. Without OUTCOME, lists the queue.

    `sandbox outcomes` lists all outcomes and faults.

    \b
    Examples:
      sandbox next insufficient_funds
      sandbox next partial_approval --operation sale --approved-amount 500
      sandbox next --fault drop_after --operation capture
      sandbox next --fault http_503 --method GET --path '/v2/*'
      sandbox next --clear
    """
    queue = ("scenario", "next")
    body = {name: value for name, value in entry.items() if value is not None}
    if clear:
        if body:
            raise click.UsageError("--clear cannot be combined with an outcome or other options")
        world.read("DELETE", *queue)
    elif body:
        world.read("POST", *queue, body=body)
    waiting = world.read("GET", *queue)
    return Result(waiting, _show_queue)


def _requests_of(entry: dict[str, Any]) -> str | None:
    named = (entry["operation"], entry["method"], entry["path"])
    return " ".join(filter(None, named)) or None


_show_queue: Final = listing(
    "queue",
    {
        "outcome": "outcome",
        "fault": "fault",
        "operation": _requests_of,
        "amount": "amount",
        "approved_amount": "approved_amount",
        "delay_ms": "delay_ms",
    },
    empty="the queue is empty: the scenario, the card or the amount decides",
)
