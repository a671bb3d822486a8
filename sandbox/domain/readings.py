"""Readings: sentences of the spec that can be read in several ways, and the readings of a world.

Each has a row. Its default is what the sandbox does unless the profile or the world says otherwise.
Four of them were switches before there were readings, and can still be set as switches: `switches`
has a row for each. Source: assumed D35.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from sandbox.domain.text import UnknownWord


class Reading:
    """A sentence of the spec that can be read in several ways. The table sets its `id`.

    `values` are the ways by name, each with what the sandbox does then. The first is the default.
    """

    id: str
    sentence: str
    values: Mapping[str, str]
    clause: str

    def __init__(self, clause: str, sentence: str, /, **values: str) -> None:
        self.clause, self.sentence, self.values = clause, sentence, values

    @property
    def default(self) -> str:
        """The value if neither the profile nor the world names one."""
        return next(iter(self.values))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its values, the default first."""
        return tuple(self.values)


READINGS: Final[Mapping[str, Reading]] = {
    "status_after_partial_refund": Reading(
        "assumed D35-partial-refund",
        "The status of a payment after a partial refund.",
        unchanged="The payment stays captured or settled.",
        refunded="The payment is refunded; the rest of it can still be refunded.",
    ),
    "duplicate_event_id": Reading(
        "assumed D35-duplicate",
        "An event_id that was used before.",
        reject="The attempt is refused with 400 duplicate_event.",
        replay="The attempt is answered with the payment as it is, if operation and amount are "
        "the same. Any other attempt is refused with 400.",
        failed_attempt="The attempt fails with status error and reason duplicate_event, under an "
        "event_id of its own, and its event fires. What the payment's state forbids is still "
        "refused.",
    ),
    "rule_failures": Reading(
        "assumed D35-rule-failures",
        "How an attempt against a rule, such as a capture above the hold, is answered.",
        http_400="A refusal. The event still fires.",
        http_200="The failed transaction.",
    ),
    "missing_headers": Reading(
        "assumed D35-headers",
        "Accept and Content-Type are always sent.",
        served="A request without Accept, or a body without Content-Type, is served.",
        refused="It is refused with 400.",
    ),
    "stored_transaction_type": Reading(
        "assumed D35-type",
        "The transaction_type of a stored transaction.",
        last="The type of the last operation, such as refund.",
        first="The type with which the payment began. Answers and events of an operation still "
        "name the operation.",
    ),
    "refund_before_settlement": Reading(
        "assumed D35-refund",
        "Funds refunded after settlement.",
        allowed="A captured payment can be refunded.",
        refused="Only a settled payment can be refunded. Before that, a refund is answered with "
        "400 invalid_transaction_state.",
    ),
    "total_of_partial_approval": Reading(
        "assumed D35-partial-approval",
        "The total_amount of a payment that was approved for less than requested.",
        requested="The requested amount.",
        approved="The approved amount, with its components in proportion. remaining_amount says "
        "what is still to be paid, until the next operation.",
    ),
    "lost_cards": Reading(
        "assumed D35-lost",
        "The status_reason of a card that is lost, stolen, restricted or to be picked up.",
        invalid_card="The card is invalid.",
        declined="The issuer declined.",
    ),
    "edit_of_closed_batch": Reading(
        "assumed D35-batch-edit",
        "A batch is edited before it is closed.",
        rejected_too="A rejected batch can be edited, which opens it again.",
        open_only="Only an open batch can be edited; any other is 400.",
    ),
    "receipt_data": Reading(
        "assumed D35-receipt",
        "The additional_details of a payment.",
        none="They have no receipt data.",
        emv="Once the processor has answered, they have rrn, stan, entry_mode and emv, for "
        "printing receipts. The values are made up from the event_id.",
    ),
    "response_fields": Reading(
        "assumed D35-response",
        "The fields of gateway_transaction_response.",
        codes="The four strings of the spec.",
        amounts="For a payment's last answer, authorizedAmount, type, status and currency too. The "
        "history has the four strings.",
    ),
    "status_of_partial_reverse": Reading(
        "assumed D35-partial-reverse",
        "The status after a partial reversal of a hold or a captured payment.",
        unchanged="Answer and event say authorized or captured.",
        reversed="Answer and event say reversed. The payment itself stays authorized or captured, "
        "because the rest is still held.",
    ),
    "tip_on_a_hold": Reading(
        "assumed D35-tip",
        "Whether the tip of an authorized payment can be adjusted.",
        refused="The answer is 400 invalid_tip_adjustment.",
        allowed="The tip changes, and the hold changes with it.",
    ),
    "above_the_hold": Reading(
        "assumed D35-above",
        "What exceeds the original authorization.",
        tip_and_surcharge="A tip of up to 100 % of the subtotal and a surcharge may exceed it.",
        nothing="Nothing may exceed it.",
        small_tip="A tip of up to 20 % of the subtotal and a surcharge may exceed it.",
        tip_tax_and_surcharge="A tip of up to 100 % of the subtotal, tax and a surcharge may "
        "exceed it.",
    ),
    "refused_attempts": Reading(
        "assumed D35-attempts",
        "A declined or errored attempt fires the same event as a success.",
        named_rules="Of the attempts that a rule refuses, only those with a status_reason of their "
        "own fire one: exceeds_original_auth, invalid_capture_sequence, invalid_tip_adjustment.",
        all="Every action that the payment's state or amounts forbid fires one, with status error "
        "and reason payment_failed, and is in the history.",
    ),
    "rates_below_one": Reading(
        "assumed D35-rates",
        "The unit of a rate below 1 in the body of a payment, such as taxRate 0.0875.",
        percent="It is 0.0875 %. The journal notes it.",
        fraction="It is a fraction of 1, so 8.75 %.",
    ),
    "payments_of_a_terminal": Reading(
        "assumed D35-terminal",
        "The transactions of a terminal.",
        empty="The list is always empty.",
        latest="A read of one terminal lists its latest 20 payments, if the key holds "
        "payments:read. Other answers and events have an empty list.",
    ),
    "reversal_of_a_timeout": Reading(
        "assumed D35-timeout",
        "The reversal of a payment that timed out.",
        refused="It is 400: the payment ended in an error, and nothing is held.",
        allowed="The whole of it can be reversed. The payment is reversed then, and a late "
        "approval changes nothing.",
    ),
    "decline_status": Reading(
        "assumed D35-decline",
        "The HTTP status of an attempt that was declined.",
        http_200="It is 200, as for every attempt that the processor answered.",
        http_400="It is 400. The body is still the transaction.",
        http_402="It is 402. The body is still the transaction.",
        http_422="It is 422. The body is still the transaction.",
    ),
    "increment_amount": Reading(
        "assumed D35-increment",
        "The amount of an increment.",
        addition="It is added to the hold. A breakdown has its parts.",
        new_total="It is the new amount of the hold, and must be more than the old one. A "
        "breakdown has the parts of the whole.",
    ),
    "capture_amount": Reading(
        "assumed D35-capture",
        "The amount of a capture with a tip.",
        with_tip="The tip is a part of it.",
        without_tip="The tip is added to it, including that of a breakdown.",
    ),
    "record_of_an_action": Reading(
        "assumed D35-action",
        "The transaction of a capture, a refund or a reversal.",
        payment="It is the payment's own record, under its transaction_id.",
        own="It is a record of its own, under a transaction_id of its own, with the amount of the "
        "action. Its additional_details have original_transaction_id. Answers, events and searches "
        "show it; the payment changes with it. An action may name the record of a capture instead "
        "of the payment.",
    ),
    "limit_above_maximum": Reading(
        "assumed D35-limit",
        "The limit of a list has a maximum.",
        refused="A higher limit is answered with 400.",
        clamped="A higher limit counts as the maximum.",
        unprocessable="A higher limit is answered with 422.",
    ),
    "unset_strings": Reading(
        "assumed D35-unset",
        "Fields of accounts, terminals and locations that are typed as plain strings.",
        as_null="Without a value they are null in answers and events.",
        as_empty='Without a value they are "" in answers and events.',
    ),
    "validation_status": Reading(
        "assumed D35-validation",
        "A request is not valid.",
        bad_request="A malformed body or query is answered with 400.",
        unprocessable="It is answered with 422, except on the routes of API keys. Rules stay 400.",
    ),
    "validation_detail": Reading(
        "assumed D35-detail",
        "The detail of a malformed body or query.",
        text="It is one string.",
        objects="It is a list of objects with type, loc and msg, as web frameworks write it; not "
        "on the routes of API keys.",
    ),
    "foreign_account_filter": Reading(
        "assumed D35-foreign",
        "Filters on several accounts are subject to caller access.",
        hidden="One account out of reach among several is answered with 404.",
        ignored="Accounts out of reach are ignored as long as one of them is in reach.",
    ),
    "unknown_routes": Reading(
        "assumed D35-routes",
        "Every request is authenticated by API key.",
        path="Unknown paths answer 404, wrong methods and retired routes 405, without a key.",
        key="Without a usable key they answer 401. A request without a key goes to the world "
        "default, so choose this for that world or in the profile.",
    ),
    "expiry_without_offset": Reading(
        "assumed D35-offset",
        "expires_at is an ISO 8601 / RFC 3339 date-time.",
        refused="A date-time without an offset is answered with 400.",
        utc="A date-time without an offset is in UTC.",
    ),
    "unknown_key_fields": Reading(
        "assumed D35-fields",
        "Unknown fields are rejected in the bodies of API keys.",
        refused="An unknown field is answered with 400.",
        ignored="It is ignored, as on other routes.",
    ),
    "key_deletes_itself": Reading(
        "assumed D35-delete",
        "The key of a request should not be the one deleted.",
        allowed="A key can delete itself.",
        refused="A key that deletes itself is refused with 400.",
    ),
    "all_granted_by": Reading(
        "assumed D35-all",
        "webhooks permissions can be granted only by PSP accounts, and all grants every "
        "permission.",
        every_holder="Every key that holds all can grant it; the new key lacks what its creator's "
        "account may not grant.",
        psp="Only a PSP account grants all, because it has webhooks permissions.",
    ),
    "key_after_a_change": Reading(
        "assumed D35-plaintext",
        "The plaintext of a retrievable or legacy key is shown on reads.",
        shown="Answers to PUT and DELETE show it too.",
        hidden="Answers to PUT and DELETE have null as key.",
    ),
    "delete_answers": Reading(
        "assumed D35-deletion",
        "A soft-deleted resource has a deleted_at value.",
        empty="The deletion of an account, terminal or location answers 204, empty.",
        resource="It answers 200 with the deleted resource and its deleted_at.",
    ),
    "deleted_resources": Reading(
        "assumed D35-deleted",
        "Soft-deleted resources can be read afterwards, or not.",
        hidden="Reading a deleted resource by its id answers 404.",
        shown="A deleted account, terminal, location or credential can be read by its id, with the "
        "keys that could read it before. Lists leave it out.",
    ),
    "application_in_answer": Reading(
        "assumed D35-application",
        "v2 creation of an account also provisions a webhook application.",
        left_out="Only the control API shows the application.",
        named="The answer has its id too, as application_id.",
    ),
    "past_expiry": Reading(
        "assumed D35-past",
        "expires_at says when a key expires.",
        refused="An expiry that has passed is answered with 400.",
        expires_at_once="It is accepted, and the key is expired at once.",
    ),
    "terminal_creators": Reading(
        "assumed D35-boarding",
        "A partner-level key manages merchants and terminals under it.",
        every_account="A merchant creates terminals for itself.",
        partner_and_above="A merchant that creates a terminal is answered with 403.",
    ),
    "admin_sees": Reading(
        "assumed D35-admin",
        "Admins see all accounts.",
        own_tree="A list that names no account shows an admin its own hierarchy. Keys of other "
        "accounts need the :sub form.",
        all="A list that names no account shows an admin every hierarchy, and either form of "
        "apikeys:read shows it the keys of all accounts.",
    ),
    "block_answer": Reading(
        "assumed D35-block-answer",
        "A request that the block of an account stops.",
        locked="It is answered with 423.",
        forbidden="It is answered with 403.",
        unauthorized="It is answered with 401.",
        bad_request="It is answered with 400.",
        invalid_terminal="A new payment ends as an error with invalid_terminal, as at a blocked "
        "terminal. Anything else is answered with 423.",
    ),
    "block_stops": Reading(
        "assumed D35-block-stops",
        "The requests that the block of an account stops.",
        payments="New payments, actions on payments, and the opening and closing of batches. "
        "Refunds count as actions. Reading and management still work.",
        new_payments="Only new payments. Others can still be captured, refunded and settled.",
        changes="Everything that changes something below the account, but no change of an account "
        "itself, such as lifting the block. Reading still works.",
    ),
    "block_reaches": Reading(
        "assumed D35-block-reaches",
        "The accounts that the block of an account stops.",
        descendants="The account and all below it.",
        itself="Only the account itself.",
    ),
}
for _id, _reading in READINGS.items():
    _reading.id = _id

DECLINE_STATUSES: Final = {f"http_{status}": status for status in (200, 400, 402, 422)}

DEFAULTS: Final[Mapping[str, str]] = MappingProxyType(
    {id: reading.default for id, reading in READINGS.items()}
)


class UnknownReading(UnknownWord):
    """A reading that does not exist, or a value that it does not have; the message helps."""


def checked(wanted: Mapping[str, Any]) -> dict[str, str]:
    """Return the choices. Raises UnknownReading unless each is known and has a known value."""
    for id, value in wanted.items():
        reading = READINGS.get(id)
        if reading is None:
            raise UnknownReading(f"{id[:80]!r} is not a reading", id[:80], READINGS)
        if value not in reading.names:
            about = f"{id}: must be one of {', '.join(reading.names)}"
            word = value[:80] if isinstance(value, str) else ""
            raise UnknownReading(about, word, reading.names)
    return dict(wanted)


def in_force(of_profile: Mapping[str, str], own: Mapping[str, str]) -> Mapping[str, str]:
    """Return every reading with its value: the world's, else the profile's, else the default."""
    return MappingProxyType({**DEFAULTS, **of_profile, **own})
