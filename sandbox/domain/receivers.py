"""Receivers inside a world: endpoints whose URL says how they answer, without a network.

Source: assumed D25-receivers.
"""

import re
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from sandbox.domain.text import did_you_mean

HOST: Final = "receiver.invalid"
"""Names that end in .invalid never resolve (RFC 6761), so nothing leaves the process."""

ANSWERS_MAX: Final = 20
ANSWER_MIN, ANSWER_MAX = 200, 599
DELAY_MS_MAX: Final = 30_000


class Program(NamedTuple):
    """The status for each attempt at a message, the last one for all later ones, and a delay."""

    answers: tuple[int, ...] = (200,)
    delay_ms: int = 0


def url_of(program: Program) -> str:
    """Return the URL of a receiver with this program."""
    fields = {"answers": ",".join(map(str, program.answers)), "delay_ms": program.delay_ms}
    return f"http://{HOST}/?{urlencode(fields, safe=',')}"


def is_inside(url: str) -> bool:
    """Whether the URL is that of a receiver inside a world."""
    return HOST in url.lower() and urlsplit(url).hostname == HOST


def program_of(url: str) -> Program:
    """Return the program in a URL. Raises ValueError with a message."""
    fields = dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))
    for name in fields:
        if name not in Program._fields:
            raise ValueError(f"has no {name!r}{did_you_mean(name, Program._fields)}")
    answers = fields.get("answers", "200").split(",")
    if len(answers) > ANSWERS_MAX:
        raise ValueError(f"answers: has {len(answers)}, and {ANSWERS_MAX} is the most")
    return Program(
        tuple(_number("answers", one, ANSWER_MIN, ANSWER_MAX) for one in answers),
        _number("delay_ms", fields.get("delay_ms", "0"), 0, DELAY_MS_MAX),
    )


def _number(name: str, text: str, least: int, most: int) -> int:
    number = int(text) if re.fullmatch("[0-9]{1,7}", text) else -1
    if not least <= number <= most:
        raise ValueError(f"{name}: {text[:20]!r} is not a whole number from {least} to {most}")
    return number
