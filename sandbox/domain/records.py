"""All kinds of record, as one type, and what they have in common."""

from sandbox.domain.accounts import Account
from sandbox.domain.credentials import Credential
from sandbox.domain.keys import ApiKey
from sandbox.domain.locations import Location
from sandbox.domain.terminals import Terminal

Record = Account | ApiKey | Credential | Location | Terminal


def id_of(record: Record) -> str:
    """The id of the record, whatever its kind calls it."""
    return record.terminal_id if isinstance(record, Terminal) else record.id


def account_id_of(record: Record) -> str:
    """The id of the account that the record belongs to; an account belongs to itself."""
    return record.id if isinstance(record, Account) else record.account_id
