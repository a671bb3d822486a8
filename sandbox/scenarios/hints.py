"""One sentence about every field of a scenario file, which editors show.

One row for each shape and field; a test holds that none is missing. Source: assumed D22, D24.
"""

from collections.abc import Mapping
from typing import Final

from sandbox.scenarios.attempts import FollowUp, Rule, Then, When
from sandbox.scenarios.examples import AtTheDesk, Example, Expect, Received, Send
from sandbox.scenarios.shapes import Scenario
from sandbox.scenarios.webhooks import WebhookRule, WebhookThen, WebhookWhen
from sandbox.scenarios.words import AmountRange, Part

HINTS: Final[Mapping[type[Part], Mapping[str, str]]] = {
    Scenario: {
        "name": "The title by which the scenario is known.",
        "about": "What the scenario is for, in a sentence or two.",
        "rule": "Rules on attempts in order, of which the first that fits applies.",
        "webhook": "Rules on webhooks in order, of which the first that fits applies.",
        "example": "Steps of one story that prove the rules, each with what must come of it.",
    },
    Rule: {
        "name": "How answers and the journal call the rule, which is its number otherwise.",
        "when": "Which attempts the rule is for; without it, all of them.",
        "then": "What happens to an attempt that fits.",
    },
    When: {
        "operation": "What is asked for.",
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
        "nth": "Which of the attempts that fit everything else of the rule, counted from 1.",
        "attempt": "Which of the attempts on the payment, its initiation being the first.",
    },
    Then: {
        "outcome": "How the attempt ends, by the key of an outcome.",
        "approved_amount": "How much a partial approval approves, in minor units.",
        "delay_ms": "How long the answer is held back, in milliseconds of the wall clock.",
        "tap": "Has the payment wait for its card to be tapped.",
        "fault": "What goes wrong between client and platform.",
        "batch": "The result of a batch that is closed.",
        "reason": "Why a batch is rejected: the key of a reason, or a text of your own.",
        "rejected": "How many payments of the batch are rejected, or which, by their ids.",
        "after": "How long a batch waits for its result, or a payment for its tap.",
        "times": "How often the rule applies before it is used up.",
        "follow": "What happens afterwards without a request.",
    },
    FollowUp: {
        "after": "How long after the attempt it happens, in the time of the world.",
        "do": "What happens then.",
        "outcome": "What the processor answers late.",
    },
    AmountRange: {
        "min": "The lowest amount that fits, in minor units.",
        "max": "The highest amount that fits, in minor units.",
        "ends_with": "The last digits of the amounts that fit.",
    },
    WebhookRule: {
        "name": "What the rule is called; without a name it is known by its number.",
        "when": "Which deliveries the rule is for; without it, all of them.",
        "then": "What is done to a delivery that fits.",
    },
    WebhookWhen: {
        "event": "The type of the event.",
        "transaction_type": "The transaction_type of the body.",
        "status": "The status of the body.",
        "account": "The account of the event, by its cast name or id.",
        "endpoint": "The endpoint, by its id, description or URL.",
        "nth": "Which of the deliveries that fit everything else of the rule, counted from 1.",
    },
    WebhookThen: {
        "drop": "Whether it is not sent at all.",
        "duplicate": "How many copies are sent in all.",
        "delay_ms": "How long it is held back, in milliseconds.",
        "order": "Its place among the webhooks of one request.",
        "signature": "How its signature is spoilt.",
        "stale_timestamp": "Whether its timestamp is too old to be accepted.",
        "truncate": "How many bytes are left of the body, or half of them with true.",
        "before_answer": "Whether it is sent before the client has its answer.",
        "contradict": "Fields to change in an extra copy, which has an id of its own.",
        "times": "How often the rule applies before it is used up.",
    },
    Example: {
        "name": "What the step is called, so that later ones can refer to it.",
        "send": "What the step does.",
        "expect": "What must come of it; what is not named does not matter.",
    },
    Send: {
        "operation": "What is asked for, or advance to let time pass, or find to look up.",
        "on": "The example on whose payment this acts, which is the one before otherwise.",
        "amount": "The amount that is asked for, in minor units.",
        "tip_amount": "The tip that is asked for, in minor units.",
        "card": "The test card, by its token.",
        "terminal": "The terminal, by its cast name.",
        "key": "The API key that asks, by its cast name.",
        "event_id": "The event_id that is sent, or that find looks for.",
        "confirm": "Whether the cardholder agrees to the surcharge.",
        "by": "How much time advance lets pass.",
        "tap": "What happens at the tap desk while the request waits.",
    },
    AtTheDesk: {
        "after": "How long nothing happens first.",
        "card": "The test card that is tapped, by its token.",
        "outcome": "How the tap ends, by the key of an outcome.",
        "cancel": "Who calls the payment off.",
    },
    Expect: {
        "http": "The status of the HTTP answer, or 0 where the connection closes without one.",
        "error": "The error code of the answer.",
        "status": "The status of the payment or batch.",
        "status_reason": "The status_reason of the payment.",
        "event": "An event that is among those fired.",
        "events": "All events that are fired, in order.",
        "outcome": "The outcome that was chosen, by its key.",
        "rule": "The rule that chose it, by its name or number.",
        "fields": "Any other fields of the answer, and of an object only what is named.",
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
