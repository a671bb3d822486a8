"""Readings of requests and answers as such."""

from typing import Final

from sandbox.domain.readings.rows import Reading, ReadingValue

LIMIT_ABOVE_MAXIMUM: Final = "limit_above_maximum"
UNSET_STRINGS: Final = "unset_strings"
VALIDATION_STATUS: Final = "validation_status"
VALIDATION_DETAIL: Final = "validation_detail"
FOREIGN_ACCOUNT_FILTER: Final = "foreign_account_filter"
UNKNOWN_ROUTES: Final = "unknown_routes"
EXPIRY_WITHOUT_OFFSET: Final = "expiry_without_offset"
UNKNOWN_KEY_FIELDS: Final = "unknown_key_fields"

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
            ReadingValue("as_null", "Without a value they are null in answers and events."),
            ReadingValue("as_empty", 'Without a value they are "" in answers and events.'),
        ),
        clause="assumed D35-unset",
    ),
    Reading(
        id=VALIDATION_STATUS,
        sentence="A request is not valid.",
        values=(
            ReadingValue("bad_request", "A malformed body or query is answered with 400."),
            ReadingValue(
                "unprocessable",
                "It is answered with 422, except on the routes of API keys. Rules stay 400.",
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
    Reading(
        id=FOREIGN_ACCOUNT_FILTER,
        sentence="Filters on several accounts are subject to caller access.",
        values=(
            ReadingValue("hidden", "One account out of reach among several is answered with 404."),
            ReadingValue(
                "ignored", "Accounts out of reach are ignored as long as one of them is in reach."
            ),
        ),
        clause="assumed D35-foreign",
    ),
    Reading(
        id=UNKNOWN_ROUTES,
        sentence="Every request is authenticated by API key.",
        values=(
            ReadingValue(
                "path",
                "Unknown paths answer 404, wrong methods and retired routes 405, without a key.",
            ),
            ReadingValue("key", "Without a usable key they answer 401."),
        ),
        clause="assumed D35-routes",
    ),
    Reading(
        id=EXPIRY_WITHOUT_OFFSET,
        sentence="expires_at is an ISO 8601 / RFC 3339 date-time.",
        values=(
            ReadingValue("refused", "A date-time without an offset is answered with 400."),
            ReadingValue("utc", "A date-time without an offset is in UTC."),
        ),
        clause="assumed D35-offset",
    ),
    Reading(
        id=UNKNOWN_KEY_FIELDS,
        sentence="Unknown fields are rejected in the bodies of API keys.",
        values=(
            ReadingValue("refused", "An unknown field is answered with 400."),
            ReadingValue("ignored", "It is ignored, as on other routes."),
        ),
        clause="assumed D35-fields",
    ),
)
