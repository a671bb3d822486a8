"""Readings of accounts, keys, terminals and locations: sentences that can be read in several ways.

`readings` has all of them. Source: assumed D35.
"""

from collections.abc import Mapping
from typing import Final


class Reading(str):
    """A sentence that can be read in several ways; as a string it is its id.

    `values` are the ways by name, each with what the sandbox then does. The first is the default.
    """

    id: str
    sentence: str
    values: Mapping[str, str]
    clause: str

    def __new__(
        cls, *, id: str, sentence: str, values: Mapping[str, str], clause: str
    ) -> "Reading":
        reading = super().__new__(cls, id)
        reading.id, reading.sentence = id, sentence
        reading.values, reading.clause = values, clause
        return reading

    @property
    def default(self) -> str:
        """The value where neither profile nor world names one."""
        return next(iter(self.values))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its values, the default first."""
        return tuple(self.values)


KEY_DELETES_ITSELF: Final = Reading(
    id="key_deletes_itself",
    sentence="The key of a request should not be the one deleted.",
    values={
        "allowed": "A key can delete itself.",
        "refused": "A key that deletes itself is refused with 400.",
    },
    clause="assumed D35-delete",
)
ALL_GRANTED_BY: Final = Reading(
    id="all_granted_by",
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
)
KEY_AFTER_A_CHANGE: Final = Reading(
    id="key_after_a_change",
    sentence="The plaintext of a retrievable or legacy key is shown on reads.",
    values={
        "shown": "Answers to PUT and DELETE show it too.",
        "hidden": "Answers to PUT and DELETE have null as key.",
    },
    clause="assumed D35-plaintext",
)
DELETE_ANSWERS: Final = Reading(
    id="delete_answers",
    sentence="A soft-deleted resource has a deleted_at value.",
    values={
        "empty": "The deletion of an account, terminal or location answers 204, empty.",
        "resource": "It answers 200 with the deleted resource and its deleted_at.",
    },
    clause="assumed D35-deletion",
)
DELETED_RESOURCES: Final = Reading(
    id="deleted_resources",
    sentence="Soft-deleted resources can be read afterwards, or not.",
    values={
        "hidden": "Reading a deleted resource by its id answers 404.",
        "shown": (
            "A deleted account, terminal, location or credential can be read by its id, with "
            "the keys that could read it before. Lists leave it out."
        ),
    },
    clause="assumed D35-deleted",
)
APPLICATION_IN_ANSWER: Final = Reading(
    id="application_in_answer",
    sentence="v2 creation of an account also provisions a webhook application.",
    values={
        "left_out": "Only the control API shows the application.",
        "named": "The answer has its id too, as application_id.",
    },
    clause="assumed D35-application",
)
PAST_EXPIRY: Final = Reading(
    id="past_expiry",
    sentence="expires_at says when a key expires.",
    values={
        "refused": "An expiry that has passed is answered with 400.",
        "expires_at_once": "It is accepted, and the key is expired at once.",
    },
    clause="assumed D35-past",
)
TERMINAL_CREATORS: Final = Reading(
    id="terminal_creators",
    sentence="A partner-level key manages merchants and terminals under it.",
    values={
        "every_account": "A merchant creates terminals for itself.",
        "partner_and_above": "A merchant that creates a terminal is answered with 403.",
    },
    clause="assumed D35-boarding",
)
ADMIN_SEES: Final = Reading(
    id="admin_sees",
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
)
BLOCK_ANSWER: Final = Reading(
    id="block_answer",
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
)
BLOCK_STOPS: Final = Reading(
    id="block_stops",
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
)
BLOCK_REACHES: Final = Reading(
    id="block_reaches",
    sentence="The accounts that the block of an account stops.",
    values={
        "descendants": "The account and all below it.",
        "itself": "The account alone.",
    },
    clause="assumed D35-block-reaches",
)
