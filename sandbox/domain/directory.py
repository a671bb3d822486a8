"""The life of accounts, terminals, locations and credentials: one state machine for all four.

They are created active, blocked and unblocked, and deleted softly, each step with its event
(spec 3.4). The rows hold the differences: a credential has `is_active` instead of `status`, has no
`updated` event, and its deletion shows the whole record (spec 6.3, assumed 1.6).
"""

from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from sandbox.domain.accounts import Account
from sandbox.domain.credentials import Credential
from sandbox.domain.locations import Location
from sandbox.domain.states import Machine, Step
from sandbox.domain.terminals import Terminal

DirectoryRecord = Account | Terminal | Location | Credential


def _life(resource: str) -> Machine:
    def step(state: str, trigger: str, target: str, event: str | None) -> Step:
        source = f"spec 6.3-{resource}.{event}" if event else "assumed 1.10"
        name = f"{resource}.{event}" if event else None
        return Step(state, trigger, target, name, source)

    return Machine(
        resource,
        (
            step("active", "block", "blocked", "blocked"),
            step("active", "unblock", "active", None),
            step("active", "delete", "deleted", "deleted"),
            step("blocked", "block", "blocked", None),
            step("blocked", "unblock", "active", "unblocked"),
            step("blocked", "delete", "deleted", "deleted"),
        ),
    )


class Directory(Struct, frozen=True, kw_only=True, gc=False):
    """One kind of directory resource.

    `name` is its category of events. If `has_updates`, a change of other fields fires an event and
    sets the date of the update.
    """

    kind: type[DirectoryRecord]
    name: str
    plural: str
    life: Machine
    has_updates: bool = True


ACCOUNTS: Final = Directory(kind=Account, name="account", plural="accounts", life=_life("account"))
TERMINALS: Final = Directory(
    kind=Terminal, name="terminal", plural="terminals", life=_life("terminal")
)
LOCATIONS: Final = Directory(
    kind=Location, name="location", plural="locations", life=_life("location")
)
CREDENTIALS: Final = Directory(
    kind=Credential,
    name="credential",
    plural="credentials",
    life=_life("credential"),
    # No credential.updated exists: a change of PIN alone is silent (assumed 1.6-update).
    has_updates=False,
)

DIRECTORIES: Final = (ACCOUNTS, TERMINALS, LOCATIONS, CREDENTIALS)

TRIGGER_OF_STATUS: Final = {"blocked": "block", "active": "unblock"}
"""The trigger of each `status` in an update. Source: assumed 1.10."""


def state_of(record: DirectoryRecord) -> str:
    """The state of the record in its machine."""
    if record.deleted_at is not None:
        return "deleted"
    if isinstance(record, Credential):
        return "active" if record.is_active else "blocked"
    return record.status


def in_state(record: Any, state: str, now: datetime) -> Any:
    """The record in that state: blocked, active, or deleted now."""
    is_credential = isinstance(record, Credential)
    if state == "deleted":
        # A deleted credential shows itself inactive (spec 6.3-credential.deleted).
        changes: dict[str, Any] = {"is_active": False} if is_credential else {"updated_at": now}
        return replace(record, deleted_at=now, **changes)
    if is_credential:
        return replace(record, is_active=state == "active")
    return replace(record, status=state, updated_at=now)
