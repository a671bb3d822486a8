"""Operations on terminals. Source: spec 4.4-paths-terminals; details assumed 1.4."""

from typing import TYPE_CHECKING, Any, Final, cast

from sandbox.domain.batches import Batch
from sandbox.domain.directory import TERMINALS, Account, AccountType, Terminal
from sandbox.domain.faults import CONFLICT, NO_CREATOR, VALIDATION_ERROR, Refusal
from sandbox.domain.payments.transactions import Transaction
from sandbox.domain.readings import PAYMENTS_OF_A_TERMINAL, TERMINAL_CREATORS
from sandbox.domain.records import Page, to_wire_fields
from sandbox.platform.directory import operations as directory
from sandbox.platform.operation_context import OperationContext
from sandbox.store.tables import processor_identity

LISTED_MAX: Final = 20
"""How many payments a terminal lists."""
READ_PAYMENTS: Final = "payments:read"
_UNFINISHED: Final = ("open", "submitted", "rejected")

if TYPE_CHECKING:
    from sandbox.platform.terminals.bodies import CreateTerminal, TerminalsQuery, UpdateTerminal


def create(context: OperationContext) -> Terminal:
    """Board a terminal on an account. Source: assumed 1.4-create."""
    body, account = cast("CreateTerminal", context.body), cast(Account, context.account)
    _must_be_a_creator(context)
    # Capability, currency and country have defaults that a terminal is never without.
    defaults = {"terminal_capability": "5", "currency_code": "USD", "country_code": "840"}
    terminal = Terminal(
        terminal_id=context.world.draws.uuid(),
        created_at=context.now,
        **(defaults | body.given()),
    )
    _must_be_boardable(context, terminal, account)
    return cast(Terminal, directory.add(context, TERMINALS, terminal))


def _must_be_a_creator(context: OperationContext) -> None:
    """Raises Refusal for a merchant where the reading keeps it from creating terminals."""
    caller = context.known_caller.account
    is_merchant = caller.type is AccountType.MERCHANT
    if is_merchant and context.world.readings[TERMINAL_CREATORS] == "partner_and_above":
        raise Refusal(
            NO_CREATOR,
            "account_id: terminals are created by partner, PSP and admin accounts",
            reason=f"the reading {TERMINAL_CREATORS} is partner_and_above",
            source="assumed D35-boarding",
            step="grant",
        )


def read(context: OperationContext) -> Any:
    """One terminal, with its latest payments where the reading lists them (assumed D35-terminal).

    A key that may not read payments gets none (assumed D31).
    """
    terminal = cast(Terminal, context.record)
    if (
        context.world.readings[PAYMENTS_OF_A_TERMINAL] == "empty"
        or READ_PAYMENTS not in context.known_caller.grants
    ):
        return terminal
    where = {"terminal_id": terminal.terminal_id}
    latest, _ = context.unit.find(Transaction, where, limit=LISTED_MAX)
    return to_wire_fields(terminal) | {"transactions": [to_wire_fields(tx) for tx in latest]}


def update(context: OperationContext) -> Terminal:
    """Change a terminal, its status included. Source: assumed 1.4."""
    body, before = cast("UpdateTerminal", context.body), cast(Terminal, context.record)
    terminal = cast(Terminal, directory.change_with_status(context, body.given()))
    if processor_identity(terminal) != processor_identity(before):
        _must_be_boardable(context, terminal, cast(Account, context.account))
    return terminal


def _must_be_boardable(context: OperationContext, terminal: Terminal, account: Account) -> None:
    """Raises Refusal when the account lacks the processor, or another terminal is known by it."""
    configs = account.available_processor_configs
    if configs and terminal.processor_config_id not in configs:
        raise Refusal(
            VALIDATION_ERROR,
            "processor_config_id: is not among the account's available_processor_configs",
            source="assumed 1.4-config",
        )
    _, taken = context.unit.find(
        Terminal, {"processor_identity": processor_identity(terminal)}, limit=0
    )
    if taken:
        raise Refusal(
            CONFLICT,
            "another terminal has this processor_config_id, mid and tid",
            source="assumed 1.4-duplicate",
        )


def delete(context: OperationContext) -> Terminal | None:
    """Delete a terminal none of whose batches still has to settle. Source: assumed D10."""
    terminal = cast(Terminal, context.record)
    refuse_unsettled(context, "terminal_id", terminal.terminal_id, "terminal", "assumed D10")
    return cast("Terminal | None", directory.delete_and_answer(context))


def refuse_unsettled(
    context: OperationContext, index: str, id: str, whose: str, source: str
) -> None:
    """Raises Refusal if a batch with this id in that condition still has to settle."""
    batches, _ = context.unit.find(Batch, {index: id, "status": _UNFINISHED})
    for batch in batches:
        is_empty = batch.status == "open" and not batch.transaction_count
        if not is_empty:
            raise Refusal(
                CONFLICT, f"the {whose}'s batch {batch.id} is {batch.status}", source=source
            )


def list_all(context: OperationContext) -> Page:
    """Terminals of the caller's hierarchy. Source: spec 4.4-paths-terminals; assumed 1.4-list."""
    query: TerminalsQuery = context.query
    return directory.page_of(
        context,
        TERMINALS,
        status=query.status,
        processor_config_id=query.processor_config_id,
        mid=query.processor_mid,
        tid=query.processor_tid,
        search=query.search,
    )
