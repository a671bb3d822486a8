"""Readings of requests and answers as such."""

from typing import Final

from sandbox.domain.readings.rows import Reading, ReadingValue

LIMIT_ABOVE_MAXIMUM: Final = "limit_above_maximum"
UNSET_STRINGS: Final = "unset_strings"
VALIDATION_STATUS: Final = "validation_status"
VALIDATION_DETAIL: Final = "validation_detail"

ROWS: Final = (
    Reading(
        id=LIMIT_ABOVE_MAXIMUM,
        sentence="The limit of a list has a maximum.",
        values=(
            ReadingValue("refused", "A higher limit is answered with 400."),
            ReadingValue("clamped", "A higher limit counts as the maximum."),
            ReadingValue("unprocessable", "A higher limit is answered with 422."),
        ),
        clause="assumed D35-limit",
    ),
    Reading(
        id=UNSET_STRINGS,
        sentence="Fields of accounts, terminals and locations that are typed as plain strings.",
        values=(
            ReadingValue("null", "Without a value they are null in answers and events."),
            ReadingValue("empty", 'Without a value they are "" in answers and events.'),
        ),
        clause="assumed D35-unset",
    ),
    Reading(
        id=VALIDATION_STATUS,
        sentence="A request is not valid.",
        values=(
            ReadingValue("400", "A malformed body or query is answered with 400."),
            ReadingValue(
                "422", "It is answered with 422, except on the routes of API keys. Rules stay 400."
            ),
        ),
        clause="assumed D35-validation",
    ),
    Reading(
        id=VALIDATION_DETAIL,
        sentence="The detail of a malformed body or query.",
        values=(
            ReadingValue("text", "It is one string."),
            ReadingValue(
                "objects",
                "It is a list of objects with type, loc and msg, as web frameworks write it; not "
                "on the routes of API keys.",
            ),
        ),
        clause="assumed D35-detail",
    ),
)
