"""`sandbox pay`: takes a payment as a member of the cast."""

from typing import Any

import click

from sandbox.cli.acting import USUAL, acting_options, open_stage
from sandbox.cli.control import Remote
from sandbox.cli.exit_status import EXIT_REFUSED, refuse
from sandbox.cli.known import CARD, OUTCOME, TERMINAL
from sandbox.cli.money import MoneyType, units_of
from sandbox.cli.progress import working
from sandbox.cli.results import show_payment
from sandbox.cli.tables import json_option, show_json


class CurrencyType(click.ParamType[Any]):
    """The code of a currency."""

    name = "CODE"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The code in capitals."""
        if not (len(value) == 3 and value.isascii() and value.isalpha()):
            self.fail("write three letters, like USD", param, ctx)
        return value.upper()


@click.command()
@click.argument("amount", type=MoneyType())
@click.option("--card", type=CARD, metavar="CARD", help="Test card, like tok_mc_prepaid.")
@click.option("--terminal", type=TERMINAL, help="Terminal of a member of the cast, or its id.")
@click.option(
    "--outcome", type=OUTCOME, metavar="OUTCOME", help="Outcome of this payment, like lost_card."
)
@click.option("--auth", "--hold", "is_auth", is_flag=True, help="Only authorize, to capture later.")
@click.option("--tip", type=MoneyType(may_be_zero=True), help="Tip on top of AMOUNT.")
@click.option("--currency", type=CurrencyType(), help="Currency. Default: the terminal's.")
@click.option("--event-id", help="The event_id, to repeat a payment.")
@acting_options
@json_option
def pay(
    amount: str,
    *,
    terminal: str | None,
    outcome: str | None,
    is_auth: bool,
    actor: str | None,
    world_id: str,
    url: str,
    token: str | None,
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
    stage = open_stage(Remote(url=url, token=token), world_id)
    member = stage.member(actor)
    body["terminal_id"] = stage.terminal(terminal, member)
    path = "/v3/preauth" if is_auth else "/v3/payment"
    with working("waiting for the platform; if it waits for a card, `sandbox tap` shows it"):
        reply = stage.ask(member, "POST", path, body, outcome=outcome)
    if as_json:
        show_json(reply.body)
    if not reply.is_ok:
        refuse(stage.refusal(reply), EXIT_REFUSED)
    if not as_json:
        show_payment(reply, reply.body, None if member.name == USUAL else member.name)


def _body(
    amount: str, *, card: str | None, tip: str | None, currency: str | None, event_id: str | None
) -> dict[str, Any]:
    """The body of the payment, without its terminal."""
    subtotal = units_of(amount, currency, "AMOUNT")
    body: dict[str, Any] = {"amount": subtotal}
    if tip is not None:
        tip_amount = units_of(tip, currency, "--tip")
        body["amount"] = subtotal + tip_amount
        body["breakdown"] = {"subtotal": subtotal, "tipAmount": tip_amount}
    if card is not None:
        body["card_reader_data"] = {"paymentCardData": card}
    if currency is not None:
        body["currency"] = currency
    if event_id is not None:
        body["event_id"] = event_id
    return body
