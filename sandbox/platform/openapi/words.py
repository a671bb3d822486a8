"""What the document for people and generators adds to the schemas: names, formats, units.

Each table is read by `plain` and by the tests.
"""

from typing import Any, Final

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
    "RateBasis": ("Account", "tax_basis"),
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
    "x-sandbox-outcome": "ForcedOutcome",
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

Schema = dict[str, Any]
