"""Readings of requests and answers as such."""

from typing import Final

from sandbox.domain.readings.rows import Reading, ReadingValue

LIMIT_ABOVE_MAXIMUM: Final = "limit_above_maximum"

ROWS: Final = (
    Reading(
        id=LIMIT_ABOVE_MAXIMUM,
        sentence="The limit of a list has a maximum.",
        values=(
            ReadingValue("refused", "A higher limit is answered with 400."),
            ReadingValue("clamped", "A higher limit counts as the maximum."),
        ),
        clause="assumed D35-limit",
    ),
)
