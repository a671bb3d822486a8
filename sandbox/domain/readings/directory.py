"""Readings of accounts, terminals, locations, credentials and keys."""

from typing import Final

from sandbox.domain.readings.rows import Reading, ReadingValue

KEY_DELETES_ITSELF: Final = "key_deletes_itself"
ALL_GRANTED_BY: Final = "all_granted_by"
KEY_AFTER_A_CHANGE: Final = "key_after_a_change"
DELETE_ANSWERS: Final = "delete_answers"
DELETED_RESOURCES: Final = "deleted_resources"
APPLICATION_IN_ANSWER: Final = "application_in_answer"
PAST_EXPIRY: Final = "past_expiry"
TERMINAL_CREATORS: Final = "terminal_creators"
ADMIN_SEES: Final = "admin_sees"

ROWS: Final = (
    Reading(
        id=KEY_DELETES_ITSELF,
        sentence="The key of a request should not be the one deleted.",
        values=(
            ReadingValue("allowed", "A key can delete itself."),
            ReadingValue("refused", "A key that deletes itself is refused with 400."),
        ),
        clause="assumed D35-delete",
    ),
    Reading(
        id=ALL_GRANTED_BY,
        sentence="webhooks permissions can be granted only by PSP accounts, and all grants "
        "every permission.",
        values=(
            ReadingValue(
                "every_holder",
                "Every key that holds all can grant it; the new key lacks what its creator's "
                "account may not grant.",
            ),
            ReadingValue(
                "psp", "Only a PSP account grants all, because it has webhooks permissions."
            ),
        ),
        clause="assumed D35-all",
    ),
    Reading(
        id=KEY_AFTER_A_CHANGE,
        sentence="The plaintext of a retrievable or legacy key is shown on reads.",
        values=(
            ReadingValue("shown", "Answers to PUT and DELETE show it too."),
            ReadingValue("hidden", "Answers to PUT and DELETE have null as key."),
        ),
        clause="assumed D35-plaintext",
    ),
    Reading(
        id=DELETE_ANSWERS,
        sentence="A soft-deleted resource has a deleted_at value.",
        values=(
            ReadingValue(
                "empty", "The deletion of an account, terminal or location answers 204, empty."
            ),
            ReadingValue(
                "resource", "It answers 200 with the deleted resource and its deleted_at."
            ),
        ),
        clause="assumed D35-deletion",
    ),
    Reading(
        id=DELETED_RESOURCES,
        sentence="Soft-deleted resources can be read afterwards, or not.",
        values=(
            ReadingValue("hidden", "Reading a deleted resource by its id answers 404."),
            ReadingValue(
                "shown",
                "A deleted account, terminal, location or credential can be read by its id, with "
                "the keys that could read it before. Lists leave it out.",
            ),
        ),
        clause="assumed D35-deleted",
    ),
    Reading(
        id=APPLICATION_IN_ANSWER,
        sentence="v2 creation of an account also provisions a webhook application.",
        values=(
            ReadingValue("left_out", "Only the control API shows the application."),
            ReadingValue("named", "The answer has its id too, as application_id."),
        ),
        clause="assumed D35-application",
    ),
    Reading(
        id=PAST_EXPIRY,
        sentence="expires_at says when a key expires.",
        values=(
            ReadingValue("refused", "An expiry that has passed is answered with 400."),
            ReadingValue("expires_at_once", "It is accepted, and the key is expired at once."),
        ),
        clause="assumed D35-past",
    ),
    Reading(
        id=TERMINAL_CREATORS,
        sentence="A partner-level key manages merchants and terminals under it.",
        values=(
            ReadingValue("every_account", "A merchant creates terminals for itself."),
            ReadingValue(
                "partner_and_above", "A merchant that creates a terminal is answered with 403."
            ),
        ),
        clause="assumed D35-boarding",
    ),
    Reading(
        id=ADMIN_SEES,
        sentence="Admins see all accounts.",
        values=(
            ReadingValue(
                "own_tree",
                "A list that names no account shows an admin its own hierarchy. Keys of other "
                "accounts need the :sub form.",
            ),
            ReadingValue(
                "all",
                "A list that names no account shows an admin every hierarchy, and either form of "
                "apikeys:read shows it the keys of all accounts.",
            ),
        ),
        clause="assumed D35-admin",
    ),
)
