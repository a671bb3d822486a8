"""`sandbox capture`, `increment`, `refund`, `reverse`, `tip` and `confirm`: acts on a payment."""

import re
from collections.abc import Callable
from typing import Any, Final

import click

from sandbox.cli.acting import USUAL, acting_options, open_stage
from sandbox.cli.control import Remote
from sandbox.cli.exit_status import EXIT_REFUSED, refuse
from sandbox.cli.known import OUTCOME, KnownType, shown
from sandbox.cli.money import MoneyType, units_of
from sandbox.cli.results import show_payment
from sandbox.cli.tables import json_option, show_json

_PERCENT: Final = re.compile(r"(?P<rate>[0-9]{1,3}(?:\.[0-9]+)?)%", re.ASCII)

_ANSWER: Final = KnownType("ANSWER", lambda: {"yes": "accept it", "no": "decline it"})

_BodyOf = Callable[[str | None], dict[str, Any]]
"""The body of an action, for the currency of the payment."""


class _TipType(MoneyType):
    """An amount, or a percentage like `18%`."""

    name = "TIP"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The text as it is, once it can be read."""
        match = _PERCENT.fullmatch(value)
        if match is None:
            return super().convert(value, param, ctx)
        if float(match["rate"]) > 100:
            self.fail(f"{value!r}: a tip is at most 100%", param, ctx)
        return value


def _on_a_payment(command: Callable[..., Any]) -> Callable[..., Any]:
    """What all actions take: the payment, the outcome, who acts, and where."""
    command = json_option(acting_options(command))
    option = click.option(
        "--outcome", type=OUTCOME, metavar="OUTCOME", help="Outcome of this action."
    )
    return click.argument("payment")(option(command))


@click.command()
@_on_a_payment
@click.argument("amount", required=False, type=MoneyType())
@click.option(
    "--tip", type=MoneyType(may_be_zero=True), help="Tip that is captured too; AMOUNT includes it."
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
        given = {} if tip is None else {"tip_amount": units_of(tip, currency, "--tip")}
        return _amount(amount, currency) | given

    _act("capture", body, **options)


@click.command()
@_on_a_payment
@click.argument("amount", type=MoneyType())
def increment(amount: str, **options: Any) -> None:
    """Add AMOUNT to an authorized PAYMENT.

    PAYMENT is an id, the beginning of an id, or `last`.

    \b
    Example:
      sandbox increment last 5.00
    """
    _act("auth", lambda currency: _amount(amount, currency), **options)


@click.command()
@_on_a_payment
@click.argument("amount", required=False, type=MoneyType())
def refund(amount: str | None, **options: Any) -> None:
    """Refund a PAYMENT: all that remains, or AMOUNT.

    PAYMENT is an id, the beginning of an id, or `last`.

    \b
    Examples:
      sandbox refund last
      sandbox refund 38b4 2.50
    """
    _act("refund", lambda currency: _amount(amount, currency), **options)


@click.command()
@_on_a_payment
@click.argument("amount", required=False, type=MoneyType())
def reverse(amount: str | None, **options: Any) -> None:
    """Reverse a PAYMENT before it is settled: all that remains, or AMOUNT.

    PAYMENT is an id, the beginning of an id, or `last`.

    \b
    Examples:
      sandbox reverse last
      sandbox reverse 38b4 2.50
    """
    _act("reverse", lambda currency: _amount(amount, currency), **options)


@click.command()
@_on_a_payment
@click.argument("tip", type=_TipType(may_be_zero=True))
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
        return {"type": "fixed", "amount": units_of(tip, currency, "TIP")}

    _act("adjust", body, **options)


@click.command()
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
    return {} if text is None else {"amount": units_of(text, currency, "AMOUNT")}


def _act(
    segment: str,
    body: _BodyOf,
    *,
    payment: str,
    outcome: str | None,
    actor: str | None,
    world_id: str,
    url: str,
    token: str | None,
    as_json: bool,
) -> None:
    """Carry out an action of the platform on the payment, and print the result."""
    if "." in payment:
        raise click.UsageError(
            f"{shown(payment)} is no payment; name it before the amount: "
            "an id, the beginning of an id, or `last`"
        )
    stage = open_stage(Remote(url=url, token=token), world_id)
    found = stage.payment(payment, actor)
    path = f"/v3/payments/{found.id}/{segment}"
    reply = stage.ask(found.member, "POST", path, body(found.currency), outcome=outcome)
    if as_json:
        show_json(reply.body)
    if not reply.is_ok:
        refuse(stage.refusal(reply), EXIT_REFUSED)
    if not as_json:
        name = found.member.name
        show_payment(reply, reply.body, None if name == USUAL else name)
