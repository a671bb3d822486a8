"""Readings of accounts, keys, terminals and locations: sentences that can be read in several ways.

`readings` has all of them. Source: assumed D35.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct


class Reading(Struct, frozen=True, kw_only=True, gc=False):
    """A sentence that can be read in several ways.

    `values` are the ways by name, each with what the sandbox then does. The first is the default.
    """

    id: str
    sentence: str
    values: Mapping[str, str]
    clause: str

    @property
    def default(self) -> str:
        """The value where neither profile nor world names one."""
        return next(iter(self.values))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its values, the default first."""
        return tuple(self.values)


KEY_DELETES_ITSELF: Final = "key_deletes_itself"
ALL_GRANTED_BY: Final = "all_granted_by"
KEY_AFTER_A_CHANGE: Final = "key_after_a_change"
DELETE_ANSWERS: Final = "delete_answers"
DELETED_RESOURCES: Final = "deleted_resources"
APPLICATION_IN_ANSWER: Final = "application_in_answer"
PAST_EXPIRY: Final = "past_expiry"
TERMINAL_CREATORS: Final = "terminal_creators"
ADMIN_SEES: Final = "admin_sees"
BLOCK_ANSWER: Final = "block_answer"
BLOCK_STOPS: Final = "block_stops"
BLOCK_REACHES: Final = "block_reaches"

DIRECTORY_ROWS: Final = (
    Reading(
        id=KEY_DELETES_ITSELF,
        sentence="The key of a request should not be the one deleted.",
        values={
            "allowed": "A key can delete itself.",
            "refused": "A key that deletes itself is refused with 400.",
        },
        clause="assumed D35-delete",
    ),
    Reading(
        id=ALL_GRANTED_BY,
        sentence="webhooks permissions can be granted only by PSP accounts, and all grants "
        "every permission.",
        values={
            "every_holder": (
                "Every key that holds all can grant it; the new key lacks what its creator's "
                "account may not grant."
            ),
            "psp": "Only a PSP account grants all, because it has webhooks permissions.",
        },
        clause="assumed D35-all",
    ),
    Reading(
        id=KEY_AFTER_A_CHANGE,
        sentence="The plaintext of a retrievable or legacy key is shown on reads.",
        values={
            "shown": "Answers to PUT and DELETE show it too.",
            "hidden": "Answers to PUT and DELETE have null as key.",
        },
        clause="assumed D35-plaintext",
    ),
    Reading(
        id=DELETE_ANSWERS,
        sentence="A soft-deleted resource has a deleted_at value.",
        values={
            "empty": "The deletion of an account, terminal or location answers 204, empty.",
            "resource": "It answers 200 with the deleted resource and its deleted_at.",
        },
        clause="assumed D35-deletion",
    ),
    Reading(
        id=DELETED_RESOURCES,
        sentence="Soft-deleted resources can be read afterwards, or not.",
        values={
            "hidden": "Reading a deleted resource by its id answers 404.",
            "shown": (
                "A deleted account, terminal, location or credential can be read by its id, with "
                "the keys that could read it before. Lists leave it out."
            ),
        },
        clause="assumed D35-deleted",
    ),
    Reading(
        id=APPLICATION_IN_ANSWER,
        sentence="v2 creation of an account also provisions a webhook application.",
        values={
            "left_out": "Only the control API shows the application.",
            "named": "The answer has its id too, as application_id.",
        },
        clause="assumed D35-application",
    ),
    Reading(
        id=PAST_EXPIRY,
        sentence="expires_at says when a key expires.",
        values={
            "refused": "An expiry that has passed is answered with 400.",
            "expires_at_once": "It is accepted, and the key is expired at once.",
        },
        clause="assumed D35-past",
    ),
    Reading(
        id=TERMINAL_CREATORS,
        sentence="A partner-level key manages merchants and terminals under it.",
        values={
            "every_account": "A merchant creates terminals for itself.",
            "partner_and_above": "A merchant that creates a terminal is answered with 403.",
        },
        clause="assumed D35-boarding",
    ),
    Reading(
        id=ADMIN_SEES,
        sentence="Admins see all accounts.",
        values={
            "own_tree": (
                "A list that names no account shows an admin its own hierarchy. Keys of other "
                "accounts need the :sub form."
            ),
            "all": (
                "A list that names no account shows an admin every hierarchy, and either form of "
                "apikeys:read shows it the keys of all accounts."
            ),
        },
        clause="assumed D35-admin",
    ),
    Reading(
        id=BLOCK_ANSWER,
        sentence="A request that the block of an account stops.",
        values={
            "locked": "It is answered with 423.",
            "forbidden": "It is answered with 403.",
            "unauthorized": "It is answered with 401.",
            "bad_request": "It is answered with 400.",
            "invalid_terminal": (
                "A new payment ends as an error with invalid_terminal, as at a blocked terminal. "
                "Anything else is answered with 423."
            ),
        },
        clause="assumed D35-block-answer",
    ),
    Reading(
        id=BLOCK_STOPS,
        sentence="The requests that the block of an account stops.",
        values={
            "payments": (
                "New payments, actions on payments, and the opening and closing of batches. "
                "Refunds count as actions. Reading and management still work."
            ),
            "new_payments": "New payments alone: what there is can be captured, refunded, settled.",
            "changes": (
                "Everything that changes something below the account. Reading still works, and so "
                "do changes of the account itself, such as lifting the block."
            ),
        },
        clause="assumed D35-block-stops",
    ),
    Reading(
        id=BLOCK_REACHES,
        sentence="The accounts that the block of an account stops.",
        values={
            "descendants": "The account and all below it.",
            "itself": "The account alone.",
        },
        clause="assumed D35-block-reaches",
    ),
)
