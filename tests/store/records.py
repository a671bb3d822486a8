"""Records and messages that tests of stores put."""

from datetime import UTC, datetime

from sandbox.domain.directory import Account, AccountType
from sandbox.domain.events import Message
from sandbox.domain.keys import ApiKey
from sandbox.store.store import Store
from sandbox.store.tables import Row

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def account(id: str, *parents: str, name: str = "A shop") -> Account:
    return Account(
        id=id,
        type=AccountType.MERCHANT,
        name=name,
        description="",
        parent_account_ids=parents,
        created_at=AT,
    )


def key(
    id: str, account_id: str = "a", *, lookup: str = "", deleted_at: datetime | None = None
) -> ApiKey:
    return ApiKey(
        id=id,
        account_id=account_id,
        name=id,
        lookup=lookup or f"lookup-{id}",
        salt="salt",
        digest="digest",
        key_last4="last",
        permissions=("all",),
        expires_at=AT,
        created_at=AT,
        deleted_at=deleted_at,
    )


def message(id: str, subject: Account | None = None) -> Message:
    record = subject or account("a")
    return Message(
        id=id,
        event_type="account.created",
        account_id=record.id,
        subject=record.id,
        request_id=None,
        created_at=AT,
        record=record,
    )


def put(store: Store, *records: Row) -> None:
    """Put the records, each in a commit of its own, so that their order is certain."""
    for record in records:
        unit = store.begin()
        unit.put(record)
        unit.commit()
