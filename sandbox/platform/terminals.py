"""Terminals: their models and operations. Source: spec 4.4-paths-terminals; details assumed 1.4."""

from typing import Annotated, Any, Final

from msgspec.structs import replace
from pydantic import AliasChoices, ConfigDict, Field, StrictStr, model_validator

from sandbox.domain.batches import Batch
from sandbox.domain.clock import BATCH_CLOSES
from sandbox.domain.currencies import CurrencyWord
from sandbox.domain.directory import TERMINALS, AccountType, ResourceStatus, Terminal
from sandbox.domain.faults import CONFLICT, NO_CREATOR, VALIDATION_ERROR, Refusal
from sandbox.domain.field_types import Mcc, Text
from sandbox.domain.payments.transactions import Payment
from sandbox.platform import directory
from sandbox.platform.context import OperationContext
from sandbox.platform.fields import AccountsOwnQuery, CreateBody, PricedBody, requires
from sandbox.store.tables import processor_identity

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

_SHEET_TEXT: dict[str, Any] = {"type": "string", "minLength": 1}

_NUMBERS = (
    dict.fromkeys(("merchant_number", "terminal_number"), _SHEET_TEXT),
    dict.fromkeys(("processing_merchant_id", "processing_terminal_id"), _SHEET_TEXT),
)
"""The fields of each processor's sheet that give mid and tid."""

_SHEET: dict[str, Any] = {
    "type": ["object", "null"],
    "properties": {
        name: {"description": f"Used as `{field}` if that is not given."}
        for name, field in VAR_SHEET_FIELDS.items()
    },
}


class _TerminalBody(PricedBody):
    """The fields of both bodies. A VAR sheet supplies the fields that are not given."""

    not_stored = frozenset({"var_sheet"})

    description: StrictStr = Field(
        default="", validation_alias=AliasChoices("description", "terminal_description")
    )
    mid: Text = ""
    tid: Text = ""
    store_number: StrictStr = ""
    bin: StrictStr = ""
    vid: StrictStr | None = None
    agent_bank_number: StrictStr | None = None
    merchant_category_code: Mcc = ""
    terminal_capability: StrictStr = ""
    currency_code: CurrencyWord = ""
    country_code: StrictStr = ""
    merchant_name: StrictStr = ""
    var_sheet: Annotated[Any, Field(json_schema_extra=_SHEET)] = None

    @model_validator(mode="before")
    @classmethod
    def _open_var_sheet(cls, sent: dict[str, Any]) -> dict[str, Any]:
        sheet = sent.get("var_sheet")
        if sheet is None:
            return sent
        if not isinstance(sheet, dict):
            raise ValueError("var_sheet must be an object")
        filled = {
            target: sheet[name]
            for name, target in VAR_SHEET_FIELDS.items()
            if sheet.get(name) is not None
        }
        number = sheet.get("terminal_number")
        if isinstance(number, str) and number:
            filled["tid"] = number.zfill(8)
        return filled | sent


class CreateTerminal(CreateBody, _TerminalBody):
    """The body that creates a terminal. Source: assumed 1.4-create."""

    # A VAR sheet may supply required fields.
    model_config = ConfigDict(
        json_schema_extra={
            "required": ["account_id", "processor_config_id", "name"],
            "anyOf": [
                requires(mid=_SHEET_TEXT, tid=_SHEET_TEXT),
                *(requires(var_sheet={"type": "object"} | requires(**form)) for form in _NUMBERS),
            ],
        }
    )

    account_id: StrictStr
    processor_config_id: Text
    name: Text = Field(validation_alias=AliasChoices("name", "terminal_name"))
    mid: Text
    tid: Text


class UpdateTerminal(_TerminalBody):
    """The body that updates a terminal; its account never changes. Source: assumed 1.4."""

    name: Text = Field(default="", validation_alias=AliasChoices("name", "terminal_name"))
    processor_config_id: Text = ""
    status: ResourceStatus = "active"


class TerminalsQuery(AccountsOwnQuery):
    """Which terminals; `search` looks into name, mid and tid. Source: assumed 1.4-list."""

    processor_config_id: str | None = None
    processor_mid: str | None = None
    processor_tid: str | None = None


_TERMINALS: Final = directory.Resource(TERMINALS, "/v2/terminals", "terminal_id")

LISTED_MAX: Final = 20
"""How many payments a terminal lists."""


@_TERMINALS.operation(
    "create",
    refuses=(CONFLICT,),
    refuses_where=(("terminal_creators", "partner_and_above", NO_CREATOR),),
    source="assumed 1.4-create",
    example={
        "account_id": "{accounts.merchant}",
        "processor_config_id": "cfg-tsys-001",
        "name": "till-2",
        "mid": "886000001131",
        "tid": "00000002",
    },
)
def create(context: OperationContext, body: CreateTerminal) -> Terminal:
    """Create a terminal."""
    _must_be_a_creator(context)
    # A terminal always has a capability, a currency and a country.
    defaults = {"terminal_capability": "5", "currency_code": "USD", "country_code": "840"}
    given = defaults | body.read_given()
    terminal = Terminal(terminal_id=context.world.draws.uuid(), created_at=context.now, **given)
    _must_be_boardable(context, terminal)
    return directory.add(context, terminal)


def _must_be_a_creator(context: OperationContext) -> None:
    """Raise Refusal for a merchant if a reading keeps merchants from creating terminals."""
    caller = context.known_caller.account
    is_merchant = caller.type is AccountType.MERCHANT
    if is_merchant and context.world.readings["terminal_creators"] == "partner_and_above":
        text = "account_id: terminals are created by partner, PSP and admin accounts"
        why = "the reading terminal_creators is partner_and_above"
        raise Refusal(NO_CREATOR, text, reason=why, source="assumed D35-boarding", step="grant")


_TERMINALS.register(__name__, "list", query=lambda _: TerminalsQuery, source="assumed 1.4-list")


@_TERMINALS.operation("read", source="spec 4.4-paths-terminals")
def read(context: OperationContext, terminal: Terminal) -> Terminal:
    """Read a terminal.

    A reading adds its latest payments (assumed D35-terminal), but not for a key that may not read
    payments (assumed D31).
    """
    is_listed = context.world.readings["payments_of_a_terminal"] != "empty"
    if not is_listed or "payments:read" not in context.known_caller.grants:
        return terminal
    where = {"terminal_id": terminal.terminal_id}
    latest, _ = context.unit.find(Payment, where, limit=LISTED_MAX)
    return replace(terminal, transactions=tuple(latest))


@_TERMINALS.operation(
    "update", refuses=(CONFLICT,), source="assumed 1.4", example={"description": "By the entrance"}
)
def update(context: OperationContext, before: Terminal, body: UpdateTerminal) -> Terminal:
    """Change a terminal."""
    terminal = directory.change_with_status(context, before, body.read_given())
    if processor_identity(terminal) != processor_identity(before):
        _must_be_boardable(context, terminal)
    return terminal


def _must_be_boardable(context: OperationContext, terminal: Terminal) -> None:
    """Raise Refusal if the account lacks the processor, or another terminal has this identity."""
    configs = context.known_account.available_processor_configs
    if configs and terminal.processor_config_id not in configs:
        why = "processor_config_id: is not among the account's available_processor_configs"
        raise Refusal(VALIDATION_ERROR, why, source="assumed 1.4-config")
    identity = {"processor_identity": processor_identity(terminal)}
    if context.unit.find(Terminal, identity, limit=0)[1]:
        why = "another terminal has this processor_config_id, mid and tid"
        raise Refusal(CONFLICT, why, source="assumed 1.4-duplicate")


@_TERMINALS.operation("delete", refuses=(CONFLICT,), source="assumed 1.4")
def delete(context: OperationContext, terminal: Terminal) -> Terminal | None:
    """Delete a terminal.

    All of its batches must have settled. Source: assumed D10.
    """
    refuse_unsettled(context, "terminal_id", terminal.terminal_id, "terminal", "assumed D10")
    context.unit.cancel(BATCH_CLOSES, terminal.terminal_id)
    return directory.delete(context, terminal)


def refuse_unsettled(
    context: OperationContext, index: str, id: str, whose: str, source: str
) -> None:
    """Raise Refusal if a batch that this condition finds still has to settle."""
    batches, _ = context.unit.find(Batch, {index: id, "status": ("open", "submitted", "rejected")})
    for batch in batches:
        if batch.status != "open" or batch.transaction_count:
            why = f"the {whose}'s batch {batch.id} is {batch.status}"
            raise Refusal(CONFLICT, why, source=source)


_TERMINALS.register(__name__, "block", "unblock")
