"""Operations on terminals. Source: spec 4.4-paths-terminals; details assumed 1.4."""

from typing import Annotated, Any, cast

from pydantic import AliasChoices, Field, StrictStr, model_validator

from sandbox.domain.accounts import Account, ResourceStatus
from sandbox.domain.directory import TERMINALS
from sandbox.domain.faults import CONFLICT, VALIDATION_ERROR, Refusal
from sandbox.domain.rendering import Page
from sandbox.domain.terminals import Terminal
from sandbox.operations import directory
from sandbox.operations.call import Call
from sandbox.operations.shapes import AccountsOwnQuery, CreateBody, PricedBody, Text
from sandbox.store.tables import board_of

TID_CHARS = 8

VAR_SHEET_FIELDS = {
    "acquirer_bin": "bin",
    "merchant_number": "mid",
    "store_number": "store_number",
    "terminal_number": "tid",
    "merchant_category_code": "merchant_category_code",
    "merchant_name": "merchant_name",
    "country_code": "country_code",
    "currency_code": "currency_code",
    "processing_merchant_id": "mid",
    "processing_terminal_id": "tid",
}
"""Field of a VAR sheet, in either processor's form, to our field (assumed 1.4-var-sheet)."""


class _TerminalBody(PricedBody):
    """What both bodies share. A VAR sheet fills what is not given beside it."""

    description: StrictStr = Field(
        default="", validation_alias=AliasChoices("description", "terminal_description")
    )
    mid: Text = ""
    tid: Text = ""
    store_number: StrictStr = ""
    bin: StrictStr = ""
    vid: StrictStr | None = None
    agent_bank_number: StrictStr | None = None
    merchant_category_code: Annotated[StrictStr, Field(pattern=r"^[0-9]{4}$")] = ""
    terminal_capability: StrictStr = ""
    currency_code: StrictStr = ""
    country_code: StrictStr = ""
    merchant_name: StrictStr = ""

    @model_validator(mode="before")
    @classmethod
    def _open_var_sheet(cls, sent: Any) -> Any:
        sheet = sent.get("var_sheet") if isinstance(sent, dict) else None
        if sheet is None:
            return sent
        if not isinstance(sheet, dict):
            raise ValueError("var_sheet must be an object")
        filled = {target: sheet[name] for name, target in VAR_SHEET_FIELDS.items() if name in sheet}
        if isinstance(sheet.get("terminal_number"), str):
            filled["tid"] = sheet["terminal_number"].zfill(TID_CHARS)
        return filled | sent


class CreateTerminal(CreateBody, _TerminalBody):
    """Body of the creation of a terminal. Source: assumed 1.4-create."""

    account_id: StrictStr
    processor_config_id: Text
    name: Text = Field(validation_alias=AliasChoices("name", "terminal_name"))
    mid: Text
    tid: Text


class UpdateTerminal(_TerminalBody):
    """Body of the update of a terminal; its account never changes. Source: assumed 1.4."""

    name: Text = Field(default="", validation_alias=AliasChoices("name", "terminal_name"))
    processor_config_id: Text = ""
    status: ResourceStatus = "active"


class TerminalsQuery(AccountsOwnQuery):
    """Which terminals; `search` looks into name, mid and tid. Source: assumed 1.4-list."""

    processor_config_id: str | None = None
    processor_mid: str | None = None
    processor_tid: str | None = None


def create(call: Call) -> Terminal:
    """Board a terminal on an account. Source: assumed 1.4-create."""
    body, account = cast(CreateTerminal, call.body), cast(Account, call.account)
    # Capability, currency and country have defaults that a terminal is never without.
    defaults = {"terminal_capability": "5", "currency_code": "USD", "country_code": "840"}
    terminal = Terminal(
        terminal_id=call.world.draws.uuid(),
        created_at=call.now,
        **(defaults | body.given() | {"account_id": account.id}),
    )
    _must_be_boardable(call, terminal, account)
    return cast(Terminal, directory.add(call, TERMINALS, terminal))


def update(call: Call) -> Terminal:
    """Change a terminal, its status included. Source: assumed 1.4."""
    body, before = cast(UpdateTerminal, call.body), cast(Terminal, call.record)
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
