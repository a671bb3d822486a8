"""All kinds of record as one type, and their common fields."""

from operator import attrgetter
from typing import Final

from sandbox.domain.accounts import Account
from sandbox.domain.batches import Batch
from sandbox.domain.credentials import Credential
from sandbox.domain.keys import ApiKey
from sandbox.domain.locations import Location
from sandbox.domain.payments.transactions import Transaction
from sandbox.domain.terminals import Terminal

Record = Account | ApiKey | Batch | Credential | Location | Terminal | Transaction

_ID_OF: Final = {
    Terminal: attrgetter("terminal_id"),
    Transaction: attrgetter("origin.transaction_id"),
}
_ID: Final = attrgetter("id")

_ACCOUNT_ID_OF: Final = {
    Account: attrgetter("id"),
    Transaction: attrgetter("origin.site.account_id"),
}
_ACCOUNT_ID: Final = attrgetter("account_id")


def id_of(record: Record) -> str:
    """The id of the record, whatever its kind calls it."""
    id: str = _ID_OF.get(type(record), _ID)(record)
    return id


def account_id_of(record: Record) -> str:
    """The id of the account that the record belongs to; an account belongs to itself."""
    account_id: str = _ACCOUNT_ID_OF.get(type(record), _ACCOUNT_ID)(record)
    return account_id
