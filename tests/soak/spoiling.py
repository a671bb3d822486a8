"""Spoils what would be right: values within JSON, bytes, headers, queries, paths."""

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any
from urllib.parse import quote

DEEP: Any = []
for _ in range(250):
    DEEP = [DEEP]

PRODUCTION_KEY = "svc_live_abcdefghijkl_" + "b" * 32
CARD = "4539578763621486"
SECRETS = (PRODUCTION_KEY, CARD)
"""A key of the real platform, and a number that passes for a real card's: kept nowhere."""

ODD: list[Any] = [
    *(None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**25, 1.5, -0.0, 1e308, 5e-324),
    *("", " ", "0", "null", "a" * 300, "a" * 5000, "\x00", "a\r\nX-Injected: yes", "\x1b[31mred"),
    *("\u202eabc", "😀", "é" * 130, "\ud800", "../../etc/passwd", "{}", "[", "%00", "'; --"),
    *("2026-02-30T00:00:00Z", "9999-12-31T23:59:59.999Z", "0001-01-01T00:00:00Z", "P1D", "-5m"),
    *("10000y", "1e9s", "svc_uat_abcdefghijkl_" + "a" * 32, PRODUCTION_KEY),
    *(
        CARD,
        CARD,
        PRODUCTION_KEY,
        "4539 5787 6362 1486",
        "tok_nobody",
        "http://[::1",
        "http://a b/",
    ),
    *("whsec_", "whsec_AA", "default", "admin", "merchant", "constructor", "__proto__"),
    *([], {}, [[]], {"a": {}}, [None], ["a", "a"], {"": 0}, list(range(120)), DEEP),
]

HEADERS: list[tuple[bytes, list[bytes]]] = [
    (b"accept", [b"", b"*/*", b"text/html", b"application/json;q=0", b"application/*;q=x", b",;,"]),
    (b"content-type", [b"", b"text/plain", b"application/json; charset=utf-16", b"json", b"a/b;;"]),
    (b"content-encoding", [b"gzip", b"identity"]),
    (
        b"x-sandbox-outcome",
        [b"", b"nonsense", b"approved, approved", b"\xff", b"http_501", b"slow"],
    ),
    (b"authorization", [b"Bearer", b"Bearer x", b"bearer x", b"Basic Og==", b"\x00"]),
    (b"origin", [b"null", b"https://elsewhere.example", b"http://127.0.0.1:8080"]),
    (b"sec-fetch-site", [b"cross-site", b"same-origin", b"none", b"?"]),
    (b"host", [b"elsewhere.example", b"localhost", b"", b"127.0.0.1:8080", b"[::1]"]),
    (b"expect", [b"100-continue"]),
    (b"range", [b"bytes=0-1"]),
    (b"if-none-match", [b"*"]),
    (b"x-http-method-override", [b"DELETE"]),
    (b"x-forwarded-for", [b"10.0.0.1"]),
    (b"x-odd", [b"\x80\xff", b"a" * 9000, b"\t"]),
]
"""Headers that somebody may send, with odd values."""

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "get", "FOO"]


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _places(inner, (*path, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value[:50]):
            yield from _places(inner, (*path, number))


def places(value: Any) -> list[tuple[Any, ...]]:
    """The path of everything within a value, the value itself first."""
    return list(_places(value))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    """What is there."""
    for part in path:
        value = value[part]
    return value


def spoilt(value: Any, dice: Random, path: tuple[Any, ...] | None = None) -> Any:
    """A copy that differs in one place: that of the path, or any but the whole."""
    found = places(value)
    if path is None:
        path = dice.choice(found[1:] or found)
    if not path:
        return dice.choice(ODD)
    spoiled = copy.deepcopy(value)
    holder, last = at(spoiled, path[:-1]), path[-1]
    how = dice.randrange(8)
    if how == 0:
        del holder[last]
    elif how == 1:
        holder[last] = copy.deepcopy(at(value, dice.choice(found)))
    elif how == 2:
        _put_beside(holder, last, dice)
    elif how == 3:
        holder[last] = [holder[last]]
    elif how in (4, 5):
        holder[last] = _a_little(holder[last], dice)
    else:
        holder[last] = copy.deepcopy(dice.choice(ODD))
    return spoiled


def _put_beside(holder: Any, last: Any, dice: Random) -> None:
    """Something that does not belong there, or the same twice."""
    if isinstance(holder, list):
        holder.insert(last, copy.deepcopy(holder[last]))
    else:
        name = dice.choice(["extra", str(last) + "s", str(last).upper(), "id", ""])
        holder[name] = copy.deepcopy(dice.choice(ODD))


def _a_little(value: Any, dice: Random) -> Any:
    """Almost the same."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int | float):
        return dice.choice([value + 1, value - 1, -value, value * 10, float(value), str(value)])
    if isinstance(value, str) and value:
        place = dice.randrange(len(value))
        return dice.choice(
            [
                *(value[:place], value[place:], value.upper(), value + value, value + " "),
                value[:place] + dice.choice("0aZ_-. \u00e9") + value[place + 1 :],
            ]
        )
    return dice.choice(ODD)


def written(value: Any) -> bytes:
    """The value as JSON."""
    return json.dumps(value).encode()


def spoilt_bytes(body: bytes, dice: Random, times: int = 3) -> bytes:
    """Bytes that are almost these: some lost, doubled, turned over, or put in."""
    changed = bytearray(body)
    for _ in range(dice.randint(1, times)):
        place = dice.randrange(len(changed) + 1)
        how = dice.randrange(6)
        if how == 0:
            del changed[place : place + dice.choice([1, 1, 2, 30])]
        elif how == 1:
            changed[place:place] = bytes([dice.randrange(256)])
        elif how == 2:
            changed[place:place] = dice.choice(
                [b"\x00", b"\xff\xfe", b"NaN", b'"', b"{", b"]", b"\\ud800", b",", b"e999", b"\r\n"]
            )
        elif how == 3 and place < len(changed):
            changed[place] ^= 1 << dice.randrange(8)
        elif how == 4:
            changed[place:place] = changed[place : place + 20]
        else:
            del changed[place:]
    return bytes(changed)


def odd_headers(headers: list[tuple[bytes, bytes]], dice: Random) -> list[tuple[bytes, bytes]]:
    """The headers with some missing, doubled, or odd."""
    changed = list(headers)
    for _ in range(dice.randint(1, 3)):
        how = dice.randrange(4)
        if how == 0 and changed:
            del changed[dice.randrange(len(changed))]
        elif how == 1 and changed:
            name, value = dice.choice(changed)
            changed.append((name, dice.choice([value, value[:-1], value + b"x"])))
        else:
            name, values = dice.choice(HEADERS)
            if dice.random() < 0.5:
                changed = [one for one in changed if one[0] != name]
            changed.append((name, dice.choice(values)))
    return changed


def odd_query(query: str, names: list[str], dice: Random) -> str:
    """The query with a parameter that is odd, repeated, or of nobody."""
    name = dice.choice([*names, "limit", "offset", "nonsense", "", "a[b]"])
    value = dice.choice(
        [
            *("", "0", "-1", "1.5", "200", "201", "99999999999999999999", "null", "true", "a,b"),
            *(
                "%",
                "%zz",
                "%00",
                "%ff",
                "%ed%a0%80",
                "2026-02-30",
                "2026-03-01T12:00:00Z",
                "x" * 3000,
            ),
            *("+", CARD, "[]", "desc", "captured&status=captured"),
        ]
    )
    added = f"{quote(name)}={value}"
    return dice.choice([f"{query}&{added}" if query else added, added, query * 2, f"&&{query};=&"])


def odd_path(path: str, dice: Random) -> str:
    """A path that is almost this one."""
    segments = path.split("/")
    place = dice.randrange(1, len(segments))
    how = dice.randrange(5)
    if how == 0:
        segments[place] = dice.choice(["", ".", "..", "a" * 2000, "é", "\x00", "%2e", "a b", "*"])
    elif how == 1:
        del segments[place]
    elif how == 2:
        segments.insert(place, segments[place])
    elif how == 3:
        segments.append("")
    else:
        segments[place] = segments[place].swapcase()
    return "/".join(segments) or "/"
