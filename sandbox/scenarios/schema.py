"""The JSON Schema of scenario files, for editors. Source: assumed D24.

It is generated from the shapes that read the files, and covers single fields. Only `parse_scenario`
knows which fields go together.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from sandbox.scenarios.rules import (
    FollowUp,
    Rule,
    ScenarioEndpoint,
    Then,
    WebhookRule,
    WebhookThen,
    WebhookWhen,
    When,
)
from sandbox.scenarios.scenario import AtTheDesk, Example, Expect, Received, Scenario, Send
from sandbox.scenarios.words import AmountRange, Part

NAME: Final = "scenario.schema.json"
"""The name of the schema's file, and the last part of its URL."""

DIRECTIVE: Final = f"#:schema {NAME}\n"
"""The line of the library's files that names the schema for TOML language servers."""


class _ForFiles(GenerateJsonSchema):
    """Schemas of the parts of a file: no nulls, no made-up titles, and each field explained.

    TOML has no null, and an editor would offer one for most of the fields.
    """

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        if schema.get("default", ...) is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        shown = super().model_schema(schema)
        hints = HINTS[schema["cls"]]
        fields = {
            name: {"description": hints[name], **field}
            for name, field in shown["properties"].items()
        }
        # The docstring is for readers of the code; editors show the hint of the field.
        kept = {name: value for name, value in shown.items() if name not in _FOR_CODE}
        least = {"minProperties": 1} if schema["cls"] in _NEVER_EMPTY else {}
        return kept | {"properties": fields} | least


_FOR_CODE: Final = ("title", "description")
_NEVER_EMPTY: Final = (AmountRange, AtTheDesk, Then, WebhookThen)


@cache
def scenario_schema() -> dict[str, Any]:
    """The schema as a document, which callers must not change."""
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        "$id": f"urn:uat-sandbox:{NAME}",
        "title": "Scenario of uat-sandbox",
        "description": "Rules on payments, batches and webhooks, and examples that prove them.",
        **Scenario.model_json_schema(mode="validation", schema_generator=_ForFiles),
    }


# --- hints ------------------------------------------------------------------------------------

HINTS: Final[Mapping[type[Part], Mapping[str, str]]] = {
    Scenario: {
        "name": "The title by which the scenario is known.",
        "about": "A description in a sentence or two.",
        "rule": "Rules on attempts in order; the first that matches applies.",
        "webhook": "Rules on webhooks in order; the first that matches applies.",
        "endpoint": "Webhook endpoints to register when the scenario starts.",
        "example": "Steps that prove the rules, each with its expected result.",
    },
    Rule: {
        "name": "The name of the rule in answers and the journal; without one, its number.",
        "when": "Which attempts the rule is for; without it, all of them.",
        "then": "The effect on an attempt that matches.",
    },
    When: {
        "operation": "The operation.",
        "amount": "The amount that the attempt asks for, in minor units.",
        "tip_amount": "The tip that the attempt asks for, in minor units.",
        "currency": "The currency, in three capital letters.",
        "card": "The test card, by its token.",
        "card_brand": "The brand of the card.",
        "card_type": "The type of the card.",
        "terminal": "The terminal, by its cast name or id.",
        "location": "The location, by its cast name or id.",
        "account": "The merchant's account, by its cast name or id.",
        "key": "The API key that asks, by its cast name or id.",
        "platform": "The platform of the reader.",
        "processor": "The processor of the terminal.",
        "status": "The status that the payment has before the attempt.",
        "nth": "The number of the attempt among those that match the rest of the rule, from 1.",
        "attempt": "The number of the attempt on the payment; its initiation is the first.",
    },
    Then: {
        "outcome": "The outcome of the attempt, by its key.",
        "approved_amount": "How much a partial approval approves, in minor units.",
        "delay_ms": "The delay of the answer, in milliseconds of real time.",
        "tap": "Lets the payment wait until its card is tapped.",
        "fault": "The transport fault between client and platform.",
        "batch": "The result of a batch that is closed.",
        "reason": "Why a batch is rejected: the key of a reason, or a text of your own.",
        "rejected": "How many payments of the batch are rejected, or which, by their ids.",
        "after": "How long a batch waits for its result, or a payment for its tap.",
        "times": "How often the rule applies before it is used up.",
        "follow": "Follow-ups, which happen later without a request.",
    },
    FollowUp: {
        "after": "The time after the attempt, on the world's clock.",
        "do": "The follow-up.",
        "outcome": "The processor's late answer.",
    },
    AmountRange: {
        "min": "The lowest amount that matches, in minor units.",
        "max": "The highest amount that matches, in minor units.",
        "ends_with": "The last digits of the amounts that match.",
    },
    ScenarioEndpoint: {
        "name": "The id of the endpoint.",
        "url": "The URL that webhooks go to.",
        "account": "The account whose events it gets, by cast name or id; without one, all.",
        "event_types": "The events that it gets; without them, all.",
        "transaction_type": "The transaction_type of the bodies that it gets.",
        "status": "The status of the bodies that it gets.",
        "processor": "The processor of the payments that it gets.",
        "secret": "Its signing secret; without one, the world makes it.",
    },
    WebhookRule: {
        "name": "The name of the rule; without one its number names it.",
        "when": "Which deliveries the rule is for; without it, all of them.",
        "then": "The effect on a delivery that matches.",
    },
    WebhookWhen: {
        "event": "The type of the event.",
        "transaction_type": "The transaction_type of the body.",
        "status": "The status of the body.",
        "account": "The account of the event, by its cast name or id.",
        "endpoint": "The endpoint, by its id, description or URL.",
        "nth": "The number of the delivery among those that match the rest of the rule, from 1.",
    },
    WebhookThen: {
        "drop": "Whether it is not sent at all.",
        "duplicate": "How many copies are sent in all.",
        "delay_ms": "The delay, in milliseconds.",
        "order": "Its place among the webhooks of one request.",
        "signature": "The fault of its signature.",
        "stale_timestamp": "Whether its timestamp is too old to be accepted.",
        "truncate": "How many bytes are left of the body, or half of them with true.",
        "before_answer": "Whether it is sent before the client has its answer.",
        "contradict": "Fields to change in an extra copy, which has an id of its own.",
        "times": "How often the rule applies before it is used up.",
    },
    Example: {
        "name": "The name of the step, for later steps that refer to it.",
        "send": "The request of the step.",
        "expect": "The expected result; fields that are not given can be anything.",
    },
    Send: {
        "operation": "The operation, or advance to let time pass, or find to look up a payment.",
        "on": "The example whose payment this acts on; the default is the one before.",
        "amount": "The amount of the request, in minor units.",
        "tip_amount": "The tip of the request, in minor units.",
        "card": "The test card, by its token.",
        "terminal": "The terminal, by its cast name.",
        "key": "The API key that asks, by its cast name.",
        "event_id": "The event_id of the request, or the one that find looks up.",
        "confirm": "Whether the cardholder agrees to the surcharge.",
        "by": "The time that advance lets pass.",
        "tap": "The tap, or the cancellation, that the waiting payment gets.",
    },
    AtTheDesk: {
        "after": "The time before the tap.",
        "card": "The test card that is tapped, by its token.",
        "outcome": "The outcome of the tap, by its key.",
        "cancel": "Who calls the payment off.",
    },
    Expect: {
        "http": "The status of the HTTP answer, or 0 if the connection closes without one.",
        "error": "The error code of the answer.",
        "status": "The status of the payment or batch.",
        "status_reason": "The status_reason of the payment.",
        "event": "An event that is among those fired.",
        "events": "All events that are fired, in order.",
        "outcome": "The outcome that was chosen, by its key.",
        "rule": "The rule that chose it, by its name or number.",
        "fields": "Any other fields of the answer, of an object, only the named members count.",
        "null": "Fields that must be null.",
        "headers": "Headers of the answer, by name.",
        "received": "Every attempt at a webhook that a receiver in good health gets, in order.",
    },
    Received: {
        "event": "The type of the event.",
        "status": "The status of its body.",
        "is_genuine": "Whether the receiver's check of signature and time lets it through.",
        "is_answered": "Whether the client had its answer by then.",
    },
}
