"""Operations on terminals. Source: spec 4.4-paths-terminals; details assumed 1.4."""

from typing import TYPE_CHECKING, Final, cast

from sandbox.domain.accounts import Account
from sandbox.domain.batches import Batch
from sandbox.domain.directory import TERMINALS
from sandbox.domain.faults import CONFLICT, VALIDATION_ERROR, Refusal
from sandbox.domain.rendering import Page
from sandbox.domain.terminals import Terminal
from sandbox.operations import directory
from sandbox.operations.call import Call
from sandbox.store.tables import board_of, in_scope

_UNFINISHED: Final = ("open", "submitted", "rejected")

if TYPE_CHECKING:
    from sandbox.operations.bodies.terminals import CreateTerminal, TerminalsQuery, UpdateTerminal


def create(call: Call) -> Terminal:
    """Board a terminal on an account. Source: assumed 1.4-create."""
    body, account = cast("CreateTerminal", call.body), cast(Account, call.account)
    # Capability, currency and country have defaults that a terminal is never without.
    defaults = {"terminal_capability": "5", "currency_code": "USD", "country_code": "840"}
    terminal = Terminal(
        terminal_id=call.world.draws.uuid(),
        created_at=call.now,
        **(defaults | body.given()),
    )
    _must_be_boardable(call, terminal, account)
    return cast(Terminal, directory.add(call, TERMINALS, terminal))


def update(call: Call) -> Terminal:
    """Change a terminal, its status included. Source: assumed 1.4."""
    body, before = cast("UpdateTerminal", call.body), cast(Terminal, call.record)
    terminal = cast(Terminal, directory.change_with_status(call, body.given()))
    if board_of(terminal) != board_of(before):
        _must_be_boardable(call, terminal, cast(Account, call.account))
    return terminal


def _must_be_boardable(call: Call, terminal: Terminal, account: Account) -> None:
    """Raises Refusal when the account lacks the processor, or another terminal is known by it."""
    configs = account.available_processor_configs
    if configs and terminal.processor_config_id not in configs:
        raise Refusal(
            VALIDATION_ERROR,
            "processor_config_id: is not among the account's available_processor_configs",
            source="assumed 1.4-config",
        )
    _, taken = call.unit.find(Terminal, {"board": board_of(terminal)}, limit=0)
    if taken:
        raise Refusal(
            CONFLICT,
            "another terminal has this processor_config_id, mid and tid",
            source="assumed 1.4-duplicate",
        )


def delete(call: Call) -> None:
    """Delete a terminal none of whose batches still has to settle. Source: assumed D10."""
    terminal = cast(Terminal, call.record)
    unfinished = [in_scope(terminal.terminal_id, status) for status in _UNFINISHED]
    call.unit.can_wait = True
    batches, _ = call.unit.find(Batch, {"terminal_status": unfinished})
    call.unit.can_wait = False
    for batch in batches:
        if batch.status != "open" or batch.transaction_count:
            raise Refusal(
                CONFLICT,
                f"the terminal's batch {batch.id} is {batch.status}",
                source="assumed D10",
            )
    directory.delete(call)


def list_all(call: Call) -> Page:
    """Terminals of the caller's hierarchy. Source: spec 4.4-paths-terminals; assumed 1.4-list."""
    query: TerminalsQuery = call.query
    return directory.page_of(
        call,
        TERMINALS,
        scope_status=query.status,
        scope_processor_config_id=query.processor_config_id,
        mid=query.processor_mid,
        tid=query.processor_tid,
        search=query.search,
    )
