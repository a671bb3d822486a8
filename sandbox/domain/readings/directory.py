"""Readings of accounts, terminals, locations, credentials and keys."""

from typing import Final

from sandbox.domain.readings.rows import Reading, ReadingValue

KEY_DELETES_ITSELF: Final = "key_deletes_itself"
ALL_GRANTED_BY: Final = "all_granted_by"
KEY_AFTER_A_CHANGE: Final = "key_after_a_change"

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
            ReadingValue("every_holder", "Every key that holds all can grant it."),
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
)
