"""`sandbox pay`, `tap`, `next`, and the actions on a payment: `capture`, `refund` and others."""

from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any, Final

import click

from sandbox.cli import arguments, output
from sandbox.cli.control_client import RemoteWorld, WorldCommand, drop_none, with_options
from sandbox.cli.platform_client import OUTCOME_HEADER, ActorCommand, Member, Stage, terminal_option
from sandbox.domain.currencies import format_amount, in_units
from sandbox.domain.json_text import fields_of, value_of

_outcome_option = partial(click.option, "--outcome", type=arguments.OUTCOME)
_SHORT: Final = 8
"""How many characters of an id to print in a command."""

_NEXT: Final[Mapping[str, str]] = {
    "authorized": "sandbox capture {id}",
    "captured": "sandbox batch close {batch}",
    "settled": "sandbox refund {id}",
    "pending": "sandbox answer {id}",
    "surcharge_pending": "sandbox confirm {id} yes",
    **dict.fromkeys(("declined", "error"), "sandbox tail --no-follow --limit 1"),
}
"""The usual next command for a payment, by its status."""

_OF_SUBMITTED: Final = "sandbox batch answer {batch} accepted"
"""The next command for a captured payment whose batch was submitted."""


def _parse_currency(value: str) -> str:
    """Return the code in capitals."""
    if not (len(value) == 3 and value.isascii() and value.isalpha()):
        raise ValueError("write three letters, like USD")
    return value.upper()


@click.command(cls=ActorCommand)
@click.argument("amount", type=arguments.AMOUNT)
@click.option("--card", type=arguments.CARD, help="Test card, like tok_mc_prepaid.")
@terminal_option
@_outcome_option(help="Outcome of this payment, like lost_card.")
@click.option("--auth", "--hold", "is_auth", is_flag=True, help="Only authorize, to capture later.")
@click.option("--tip", type=arguments.AMOUNT_OR_ZERO, help="Tip on top of AMOUNT.")
@click.option(
    "--currency",
    type=arguments.ParsedType("CODE", _parse_currency),
    help="Currency. Default: the terminal's.",
)
@click.option("--event-id", help="The event_id of the payment; repeat one to repeat a payment.")
def pay(
    amount: str, *, card: str | None, tip: str | None, is_auth: bool, stage: Stage, **given: Any
) -> output.Result:
    """Take a payment of AMOUNT, and print its result.

    AMOUNT is in units of the currency: 10 is ten dollars. The merchant acts, at its own
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
    member = stage.member()
    at = stage.terminal(given["terminal"], member)
    currency = given["currency"] or stage.currency_at(at)
    total = subtotal = arguments.units_of(amount, currency, "AMOUNT")
    body = {"currency": given["currency"], "event_id": given["event_id"]}
    if tip is not None:
        tip_amount = arguments.units_of(tip, currency, "--tip")
        total += tip_amount
        body["breakdown"] = {"subtotal": subtotal, "tipAmount": tip_amount}
    if card is not None:
        body["card_reader_data"] = {"paymentCardData": card}
    body |= {"amount": total, "terminal_id": at}
    path = "/v3/preauth" if is_auth else "/v3/payment"
    with output.working("waiting for the platform; if it waits for a card, `sandbox tap` shows it"):
        return _send(stage, member, path, drop_none(body), given["outcome"])


def _send(
    stage: Stage, member: Member, path: str, body: Mapping[str, Any], outcome: str | None
) -> output.Result:
    """Return a payment, shown on one line, which a narrow terminal wraps between its parts.

    The parts are its id, status and reason, amounts, card, and the next step. If it failed, the
    line says what chose the outcome.
    """
    reply = stage.ask(member, "POST", path, body, outcome=outcome)
    payment = value_of(reply.content)
    # A reading may give a decline another status; its body is the payment all the same.
    if not reply.is_success and "transaction_id" not in fields_of(payment):
        return output.Result(payment, None, output.EXIT_REFUSED, [stage.refusal(reply)])

    def show(_: Any) -> None:
        parts = [
            payment["transaction_id"],
            output.styled_status(payment["status"], payment["status_reason"]),
            _amounts(payment),
        ]
        if payment["card"] is not None:
            parts.append(f"{payment['card_brand']} {payment['card']}")
        if payment["status"] in ("declined", "error") and OUTCOME_HEADER in reply.headers:
            parts.append(_describe_choice(reply.headers[OUTCOME_HEADER]))
        if step := _next(payment, stage, member):
            parts.append(f"next: {with_options(step)}")
        output.say_parts(parts)

    return output.Result(payment, show)


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
    """Put a header like `insufficient_funds; source=amount; rule=900051` into words."""
    key, *rest = outcome.split("; ", 2)
    named = dict(part.split("=", 1) for part in rest if "=" in part)
    source = named.get("source", "")
    rule = named.get("rule", "").removeprefix(f"{source}:")
    by = f"{source} {rule}" if rule not in ("", source) else source
    return f"{key}, chosen by the {by}" if by else key


def _next(payment: Mapping[str, Any], stage: Stage, member: Member) -> str:
    """Return the usual next command; an empty text if there is none."""
    remaining = payment["additional_details"].get("remaining_amount")
    if remaining and payment["status"] in ("captured", "authorized"):
        # The same member pays again at the same terminal.
        options = stage.options_of(member, payment["tid"])
        return f"sandbox pay {in_units(remaining, payment['currency'])}{options}"
    batch, step = payment["batch_id"] or "", _NEXT.get(payment["status"], "")
    if payment["status"] == "captured" and batch:
        # What is refunded may be in a batch that waits for its result.
        found = stage.remote.read("GET", "batches", batch)["batch"]
        step = _OF_SUBMITTED if found["status"] == "submitted" else step
    return step.format(id=payment["transaction_id"][:_SHORT], batch=batch[:_SHORT]).rstrip()


# --- actions on a payment

Body = dict[str, Any]


def _action(segment: str) -> Callable[[Callable[..., Body]], click.Command]:
    """Return a decorator that makes the command of an action from a function that returns its body.

    The function gets the payment's currency, if known, besides its own arguments.
    """

    def build(give_body: Callable[..., Body]) -> click.Command:
        @wraps(give_body)
        def act(*, payment: str, outcome: str | None, stage: Stage, **given: Any) -> output.Result:
            if "." in payment:
                raise click.UsageError(
                    f"{arguments.quote_word(payment)} is not a payment; name it before the "
                    "amount: an id, the beginning of an id, or `last`"
                )
            id, member, currency = stage.payment(payment)
            path, body = f"/v3/payments/{id}/{segment}", give_body(currency=currency, **given)
            return _send(stage, member, path, body, outcome)

        command = _outcome_option(help="Outcome of this action.")(act)
        return click.command(cls=ActorCommand)(click.argument("payment")(command))

    return build


_some_amount = click.argument("amount", required=False, type=arguments.AMOUNT)


@_action("capture")
@_some_amount
@click.option(
    "--tip", type=arguments.AMOUNT_OR_ZERO, help="Tip that is captured too; AMOUNT includes it."
)
def capture(amount: str | None, tip: str | None, currency: str | None) -> Body:
    """Capture an authorized PAYMENT: all of it, or AMOUNT.

    PAYMENT is an id, the beginning of an id, or `last`.

    \b
    Examples:
      sandbox capture last
      sandbox capture 38b4 30.00 --tip 5.00
    """
    given = {} if tip is None else {"tip_amount": arguments.units_of(tip, currency, "--tip")}
    return _amount(amount, currency) | given


@_action("auth")
@click.argument("amount", type=arguments.AMOUNT)
def increment(amount: str, currency: str | None) -> Body:
    """Add AMOUNT to an authorized PAYMENT.

    PAYMENT is an id, the beginning of an id, or `last`.

    \b
    Example:
      sandbox increment last 5.00
    """
    return _amount(amount, currency)


@_action("refund")
@_some_amount
def refund(amount: str | None, currency: str | None) -> Body:
    """Refund a PAYMENT: all that remains, or AMOUNT.

    PAYMENT is an id, the beginning of an id, or `last`.

    \b
    Examples:
      sandbox refund last
      sandbox refund 38b4 2.50
    """
    return _amount(amount, currency)


@_action("reverse")
@_some_amount
def reverse(amount: str | None, currency: str | None) -> Body:
    """Reverse a PAYMENT before it is settled: all that remains, or AMOUNT.

    PAYMENT is an id, the beginning of an id, or `last`.

    \b
    Examples:
      sandbox reverse last
      sandbox reverse 38b4 2.50
    """
    return _amount(amount, currency)


@_action("adjust")
@click.argument("tip", type=arguments.TIP)
def tip(tip: str, currency: str | None) -> Body:
    """Set the tip of a captured PAYMENT to TIP, an amount or a percentage.

    PAYMENT is an id, the beginning of an id, or `last`.

    \b
    Examples:
      sandbox tip last 2.00
      sandbox tip last 18%
    """
    if tip.endswith("%"):
        return {"type": "percentage", "percentage": float(tip[:-1])}
    return {"type": "fixed", "amount": arguments.units_of(tip, currency, "TIP")}


@_action("confirm")
@click.argument(
    "answer",
    type=arguments.KnownType({"yes": "accept it", "no": "decline it"}, "ANSWER"),
    metavar="yes|no",
)
def confirm(answer: str, currency: str | None) -> Body:
    """Accept or decline the surcharge of a PAYMENT, as the cardholder.

    PAYMENT is an id, the beginning of an id, or `last`.

    \b
    Examples:
      sandbox confirm last yes
      sandbox confirm last no
    """
    return {"confirm": answer == "yes"}


def _amount(text: str | None, currency: str | None) -> Body:
    return {} if text is None else {"amount": arguments.units_of(text, currency, "AMOUNT")}


# --- cards and outcomes


@click.command(cls=ActorCommand)
@click.argument("payment")
@click.argument("outcome", default="approved", type=arguments.SOME_OUTCOME)
@click.option("--event-id", help="Attempt to answer. Default: the newest one that waits.")
def answer(payment: str, stage: Stage, **body: str | None) -> output.Result:
    """Give the processor's late answer to an attempt at PAYMENT that timed out.

    PAYMENT is an id, the beginning of an id, or `last`. The answer completes what
    timed out: the sale, the refund, or another action. With a decline as OUTCOME, it fails.

    \b
    Examples:
      sandbox answer last
      sandbox answer 38b4 do_not_honor --event-id refund-1
    """
    id = stage.payment(payment).id
    told = stage.remote.read("POST", "payments", id, "answer", body=body)

    def show(_: Any) -> None:
        # The attempt that was answered is the last one now.
        attempts = [one["says"] for one in told["story"] if one["kind"] == "attempt"]
        output.say_parts([id, attempts[-1], _amounts(told["payment"])])

    return output.Result(told, show)


@click.command(cls=WorldCommand)
@click.argument("id", required=False)
@click.option("--card", type=arguments.SOME_CARD, help="Tap this test card, like tok_visa_credit.")
@click.option("--outcome", type=arguments.SOME_OUTCOME, help="Outcome of the payment.")
@click.option(
    "--cancel", type=click.Choice(["user", "merchant"]), help="Cancel it as the user or merchant."
)
def tap(id: str | None, *, world: RemoteWorld, **choice: str | None) -> output.Result:
    """Tap a card for a waiting payment.

    Without options, lists the waiting payments. ID is the payment's; you can leave it out if only
    one waits. Payments wait if a scenario says tap = "wait".

    \b
    Examples:
      sandbox tap
      sandbox tap --card tok_visa_debit
      sandbox tap 3fa85f64-5717-4562-b3fc-2c963f66afa6 --cancel user
    """
    body = drop_none(choice)
    if len(body) > 1 or (id is not None and not body):
        raise click.UsageError("give one of --card, --outcome and --cancel")
    waiting = world.read("GET", "taps")
    if not body:
        return output.Result(waiting, _show_waiting)
    ids = [id] if id else [tap["transaction_id"] for tap in waiting["taps"]]
    if not ids:
        output.refuse(_NONE_WAITS, output.EXIT_REFUSED)
    if len(ids) > 1:
        output.refuse(f"{len(ids)} payments wait; name one: {', '.join(ids)}", output.EXIT_REFUSED)
    (id,) = ids
    ended = world.read("POST", "taps", id, body=body)
    why = f": {ended['status_reason']}" if ended["status_reason"] else ""
    return output.Result(ended, f"{ended['transaction_id']}  {ended['status']}{why}")


_NONE_WAITS: Final = "no payment waits for a tap"


def _show_waiting(found: Mapping[str, Any]) -> None:
    columns: output.Columns = {
        "transaction id": "transaction_id",
        "operation": "operation",
        "amount": lambda tap: format_amount(tap["amount"], tap["currency"]),
        "terminal id": "terminal_id",
        **{name: name for name in ("since", "until")},
    }
    output.show_table(found["taps"], columns, empty=_NONE_WAITS, is_whole=True)


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
def next_outcome(*, clear: bool, world: RemoteWorld, **entry: Any) -> output.Result:
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
    queue, body = ("scenario", "next"), drop_none(entry)
    if clear and body:
        raise click.UsageError("--clear cannot be combined with an outcome or other options")
    if clear:
        world.read("DELETE", *queue)
    elif body:
        world.read("POST", *queue, body=body)
    return output.Result(world.read("GET", *queue), _show_queue)


def _requests_of(entry: dict[str, Any]) -> str:
    return " ".join(filter(None, (entry["operation"], entry["method"], entry["path"])))


_QUEUED: Final = ("outcome", "fault", "operation", "amount", "approved_amount", "delay_ms")


def _show_queue(found: Mapping[str, Any]) -> None:
    columns: output.Columns = {**{name: name for name in _QUEUED}, "operation": _requests_of}
    empty = "the queue is empty: the scenario, the card or the amount decides"
    output.show_table(found["queue"], columns, empty=empty)
