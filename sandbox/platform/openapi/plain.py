"""What makes a document plain: names, formats and units from tables, and simpler schemas.

Generators make types without fields of rules that stand beside `properties`, so those are left out.
"""

from collections.abc import Iterator
from typing import Any, Final

from sandbox.platform.openapi.schemas import NULL, Schema

ENUMS: Final = {
    "TransactionStatus": ("TransactionView", "status"),
    "StatusReason": ("TransactionView", "status_reason"),
    "TransactionType": ("TransactionView", "transaction_type"),
    "EditableStatus": ("EditTransaction", "status"),
    "Permission": ("CreateKey", "permissions"),
    "RecordStatus": ("Account", "status"),
    "KeyStatus": ("ApiKeyView", "status"),
    "KeyEventStatus": ("ApiKeyEvent", "status"),
    "BatchStatus": ("Batch", "status"),
    "RateBasis": ("TransactionView", "tax_basis"),
    "AdjustmentType": ("Adjust", "type"),
    "PaymentMethod": ("StartPayment", "payment_method"),
    "Platform": ("StartPayment", "platform"),
    "InitiationType": ("StartPayment", "type"),
    "TipType": ("TransactionView", "tip_type"),
    "TipCaptureMode": ("TransactionView", "tip_capture_mode"),
    "EventType": ("MessageView", "event_type"),
    "OutcomeName": ("CatalogueOutcome", "key"),
    "TransportFault": ("FaultView", "key"),
    "DeliveryTrigger": ("DeliveryAttemptView", "trigger"),
    "BatchReply": ("BatchAnswer", "answer"),
    "Weekday": ("BatchScheduleView", "days"),
    "ClockMode": ("ClockBody", "mode"),
    "DeliveryStatus": ("DeliveryView", "status"),
    "FaultMoment": ("FaultView", "when"),
    "Canceler": ("TapBody", "cancel"),
    "VerifyStep": ("VerifyView", "step"),
    "SubjectKind": ("Subject", "kind"),
    "ExportFormat": ("ExportBody", "as"),
    "RequestMethod": ("SendBody", "method"),
    "RecordKind": ("DirectoryEntry", "kind"),
    "StoryKind": ("StoryStep", "kind"),
    "NeedKind": ("Need", "kind"),
}
"""Name of an enum to the schema and the property whose values it has.

Everything else with the same values refers to it.
"""

PARAMETERS: Final = {
    "sort_by": "SortBy",
    "sort_order": "SortOrder",
    "order": "PaymentOrder",
    "status_class": "StatusClass",
}
"""Name of a parameter to the name of its enum."""

MINOR_UNITS: Final = frozenset(
    {
        "amount",
        "subtotal",
        "tax_amount",
        "tip_amount",
        "surcharge_amount",
        "total_amount",
        "refunded",
        "reversed",
        "captured_amount",
        "refunded_amount",
        "authorized_amount",
        "approved_amount",
        "above_amount",
        "taxAmount",
        "tipAmount",
        "surchargeAmount",
        "min_amount",
        "max_amount",
    }
)
"""Fields and parameters with an amount of money. Source: spec 2.4."""

MILLISECONDS: Final = frozenset({"created_at", "start_date", "end_date"})
"""Fields and parameters with an instant, where they are integers."""

ABOUT_AMOUNTS: Final = "In minor units of the currency: 1050 is 10.50 USD, 1050 JPY or 1.050 BHD."
ABOUT_INSTANTS: Final = "Unix time in milliseconds."

IDS: Final = {
    "Account": ("id",),
    "ApiKeyEvent": ("id", "account_id"),
    "ApiKeyView": ("id", "account_id"),
    "Batch": ("id", "account_id", "terminal_id"),
    "CredentialView": ("id", "account_id"),
    "Location": ("id", "account_id"),
    "Terminal": ("terminal_id", "account_id"),
    "TransactionView": ("transaction_id", "account_id"),
}
"""Schema of an answer to those of its fields that are UUIDs. A request may name any id."""

CROSS_FIELD: Final = (
    *("anyOf", "allOf", "oneOf", "not", "if", "then", "else"),
    *("dependentRequired", "dependentSchemas", "propertyNames"),
)
"""Keywords that are left out where they stand beside `properties`."""

_SCHEMAS: Final = "#/components/schemas/"
_NUMBERS: Final = ({"integer"}, {"number"}, {"integer", "number"})


def finish(document: Schema) -> None:
    """Complete a plain document with the words of the tables, and simplify its schemas."""
    schemas: Schema = document["components"]["schemas"]
    parameters = list(_parameters(document))
    for name, schema in schemas.items():
        _add_words(name, schema.get("properties", {}))
    for one in parameters:
        if one["in"] == "query" and one["schema"].get("type") == "integer":
            _add_unit(one["name"], one)
    for part in _walk(document):
        _simplify(part)
    _name_enums(document, parameters)


def _walk(value: Any) -> Iterator[Schema]:
    """Every object in the value, the inner ones first. Examples and enums are no schemas."""
    if isinstance(value, dict):
        for word, one in value.items():
            if word not in ("example", "examples", "enum", "x-example"):
                yield from _walk(one)
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _walk(one)


def _parameters(document: Schema) -> Iterator[Schema]:
    for item in document["paths"].values():
        for operation in item.values():
            yield from (one for one in operation.get("parameters", ()) if "in" in one)


# --- words --------------------------------------------------------------------------------------


def _add_words(name: str, fields: Schema) -> None:
    for field, schema in fields.items():
        _add_unit(field, schema)
    for field in IDS.get(name, ()):
        fields[field]["format"] = "uuid"


def _add_unit(field: str, schema: Schema) -> None:
    if field in MINOR_UNITS and "description" not in schema:
        schema["description"] = ABOUT_AMOUNTS
    elif field in MILLISECONDS and "integer" in str(schema.get("type", schema.get("schema"))):
        schema.setdefault("description", ABOUT_INSTANTS)


# --- simplifying --------------------------------------------------------------------------------


def _simplify(schema: Schema) -> None:
    """The schema without what generators misread. It accepts at least the same values."""
    if isinstance(schema.get("properties"), dict):
        for word in CROSS_FIELD:
            schema.pop(word, None)
        for field, one in schema["properties"].items():
            if one == NULL:
                # A field that is always null has no type in most languages.
                schema["properties"][field] = {"description": "Always null for now."}
    schema.pop("propertyNames", None)
    if "enum" in schema:
        schema.pop("minLength", None)
    if not isinstance(schema.get("anyOf"), list):
        return
    given = [one for one in schema["anyOf"] if one != NULL]
    types = {one.get("type") if isinstance(one.get("type"), str) else None for one in given}
    if {} in given:
        del schema["anyOf"]
    elif types in _NUMBERS:
        or_null = ["number", "null"] if NULL in schema.pop("anyOf") else "number"
        schema |= _one_number(given) | {"type": or_null}


def _one_number(given: list[Schema]) -> Schema:
    """The rules for a number within the widest of the limits."""
    found: Schema = {}
    for one in given:
        found |= {word: value for word, value in one.items() if word != "format"}
    for word, widest in (("minimum", min), ("maximum", max)):
        if limits := [one[word] for one in given if word in one]:
            found[word] = widest(limits)
    return found


# --- naming -------------------------------------------------------------------------------------


def _name_enums(document: Schema, parameters: list[Schema]) -> None:
    """A reference to the named enum wherever its values stand."""
    schemas = document["components"]["schemas"]
    names = {frozenset(one["enum"]): name for name, one in schemas.items() if "enum" in one}
    made: Schema = {}
    for name, (schema, field) in ENUMS.items():
        parts = _walk(schemas.get(schema, {}).get("properties", {}).get(field))
        values = next((part["enum"] for part in parts if isinstance(part.get("enum"), list)), None)
        if values is not None and names.setdefault(frozenset(values), name) == name:
            made[name] = {"type": "string", "enum": values}
    for one in parameters:
        if one["name"] in PARAMETERS:
            name, values = PARAMETERS[one["name"]], one["schema"]["enum"]
            made[name] = {"type": "string", "enum": values}
            names[frozenset(values)] = name
    tops = {id(one) for one in schemas.values()}
    for part in list(_walk(document)):
        values = part.get("enum")
        if isinstance(values, list) and id(part) not in tops and frozenset(values) in names:
            part.pop("type", None)
            part["$ref"] = f"{_SCHEMAS}{names[frozenset(part.pop('enum'))]}"
    schemas |= made
