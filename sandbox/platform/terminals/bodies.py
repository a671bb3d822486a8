"""Bodies and queries of terminals. Source: spec 2.7; details assumed 1.4."""

from typing import Annotated, Any

from pydantic import AliasChoices, ConfigDict, Field, StrictStr, model_validator

from sandbox.domain.currencies import CurrencyWord
from sandbox.domain.directory import ResourceStatus
from sandbox.domain.field_types import Mcc, Text
from sandbox.platform.fields import AccountsOwnQuery, CreateBody, PricedBody

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


_SHEET_TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
_SHEET: dict[str, Any] = {
    "type": ["object", "null"],
    "properties": {
        name: {"description": f"`{field}`, where that is not given."}
        for name, field in VAR_SHEET_FIELDS.items()
    },
}
_SHEET_SAYS_BOTH: dict[str, Any] = {
    "required": ["var_sheet"],
    "properties": {
        "var_sheet": {
            "type": "object",
            "required": ["merchant_number", "terminal_number"],
            "properties": {"merchant_number": _SHEET_TEXT, "terminal_number": _SHEET_TEXT},
        }
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
    def _open_var_sheet(cls, sent: Any) -> Any:
        sheet = sent.get("var_sheet") if isinstance(sent, dict) else None
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
            filled["tid"] = number.zfill(TID_CHARS)
        return filled | sent


class CreateTerminal(CreateBody, _TerminalBody):
    """Body of the creation of a terminal. Source: assumed 1.4-create."""

    # A VAR sheet may supply required fields.
    model_config = ConfigDict(
        json_schema_extra={
            "required": ["account_id", "processor_config_id", "name"],
            "anyOf": [
                {
                    "required": ["mid", "tid"],
                    "properties": {"mid": _SHEET_TEXT, "tid": _SHEET_TEXT},
                },
                _SHEET_SAYS_BOTH,
            ],
        }
    )

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
