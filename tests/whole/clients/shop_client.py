"""A program with the client that openapi-python-client generates."""

import os

from card_payment_platform_client import AuthenticatedClient
from card_payment_platform_client.api.payments import payments_create
from card_payment_platform_client.api.transactions import transactions_read, transactions_search
from card_payment_platform_client.models import ForcedOutcome, StartPayment, TransactionView

client = AuthenticatedClient(
    os.environ["SANDBOX_URL"],
    os.environ["SANDBOX_KEY"],
    prefix="",
    auth_header_name="x-service-apikey",
)


def pay(outcome: ForcedOutcome) -> TransactionView:
    """A payment of 10.00 that ends so."""
    body = StartPayment(amount=1000, terminal_id=os.environ["SANDBOX_TERMINAL"])
    answer = payments_create.sync(client=client, body=body, x_sandbox_outcome=outcome)
    assert isinstance(answer, TransactionView), answer
    return answer


print(pay(ForcedOutcome.APPROVED).status)
decline = pay(ForcedOutcome.INSUFFICIENT_FUNDS)
print(decline.status, decline.status_reason)
page = transactions_search.sync(client=client, limit=1, offset=1)
print(len(page.transactions), "of", page.total)
missing = transactions_read.sync_detailed("none", client=client)
print(int(missing.status_code), missing.parsed.error)
