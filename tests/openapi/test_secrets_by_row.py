"""What must never be kept is refused in every field of every row, and is nowhere afterwards.

The fields are those of both surfaces' own documents, which are made of the rows: a row that is
added is tried as well. Source: assumed D5, 6.4-everywhere.
"""

import json
import logging
import unicodedata
from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.control.routes import CONTROL as CONTROL_ROWS
from sandbox.platform.routes import OPERATIONS
from sandbox.scenarios.schema import scenario_schema
from sandbox.settings import Settings
from tests.driving import FROZEN, InProcess
from tests.openapi.asking import Request
from tests.openapi.described import Checked, unchecked, usual_documents
from tests.openapi.planting import (
    CARDS,
    KEYS,
    LIVE,
    NAME,
    PRODUCTION,
    SECRETS,
    WHOLE,
    Place,
    Places,
    planted,
    spelt,
)
from tests.platform.secret_texts import everything_kept, secret_of
from tests.properties import IS_THOROUGH
from tests.scenarios.running import STORY

SETTINGS = Settings(clock=FROZEN, log_requests=True)

SENTENCES = (
    "a production key must never be sent to a sandbox",
    "an API key is not allowed here",
    "a card number is not allowed here",
)

WITH_A_SUPPLIED_KEY = ("apikeys.create", ("key",))
"""The one field of a body in which a whole key of the sandbox belongs."""


PLATFORM = [row.name for row in OPERATIONS if row.body is not None]
CONTROL = [row.name for row in CONTROL_ROWS if row.body is not None]
"""The operations with a body in a shape. A snapshot is tried by itself."""


@pytest.fixture
def sandbox() -> Checked:
    return unchecked(SETTINGS)


# --- what is tried, and what may be left of it ------------------------------------------------


def _places(surface: int, name: str) -> list[Place]:
    described = usual_documents()[surface]
    content = described.operations[name]["requestBody"]["content"]["application/json"]
    return Places(described.document, content["schema"]).all


def _without_separators(text: str) -> str:
    """The text as somebody reads it who looks for a number: its letters and digits alone."""
    plain = unicodedata.normalize("NFKC", text)
    return "".join(
        str(unicodedata.digit(char)) if char.isdigit() else char for char in plain if char.isalnum()
    )


PARTS = [
    *(part for key in (PRODUCTION, WHOLE) for part in (secret_of(key), secret_of(key)[:12])),
    *(_without_separators(number) for number in (LIVE, CARDS["of another brand"])),
]


def _left_in(text: str) -> list[str]:
    whole = _without_separators(text)
    return [part for part in PARTS if part in whole]


def _assert_nothing_is_kept(sandbox: InProcess, caplog: pytest.LogCaptureFixture) -> None:
    snapshot = sandbox.saved().decode()
    # A line of the log has these as well where programs read it.
    fields = [str(one) for line in caplog.records for one in getattr(line, "request", {}).values()]
    log = "\n".join([caplog.text, *fields])
    # As JSON escapes would hide it.
    assert _left_in(everything_kept(sandbox)) == []
    assert _left_in(json.dumps(json.loads(snapshot), ensure_ascii=False)) == []
    assert _left_in(log) == []
    assert [name for name, key in sandbox.cast.plaintexts.items() if secret_of(key) in log] == []


def test_leftovers_would_be_found():
    texts = [*SECRETS.values(), json.dumps({"x": PRODUCTION}), f"x {CARDS['with line breaks']} y"]

    assert [text for text in texts if not _left_in(text)] == []


def _in_turn(number: int) -> list[str]:
    """All secrets in `make properties`; else a key and a card, others at the next number."""
    if IS_THOROUGH:
        return list(SECRETS.values())
    return [[*kind.values()][number % len(kind)] for kind in (KEYS, CARDS)]


def _all(places: list[Place], turn: int) -> Iterator[tuple[Place, str]]:
    """What is tried at each place; what is first differs from row to row."""
    for number, place in enumerate(places, start=turn):
        for secret in _in_turn(number):
            yield place, secret


# --- the platform -----------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.proves("assumed D5, 6.4-unknown, 6.4-everywhere", "spec 6.1.7")
@pytest.mark.parametrize("name", PLATFORM)
def test_no_field_of_a_body_takes_a_secret(sandbox, caplog, name):
    caplog.set_level(logging.INFO)
    request = Request(sandbox, name)
    refused: set[str] = set()

    for place, secret in _all(_places(0, name), PLATFORM.index(name)):
        if (name, place) == WITH_A_SUPPLIED_KEY and secret == WHOLE:
            continue
        answer = request.send(json_body=..., body=spelt(planted(request.body, place, secret)))
        # A place to pay at that the caller does not see is looked for before anything is kept.
        assert answer.status in (400, 404), (place, secret, answer)
        assert _left_in(answer.body.decode()) == [], (place, secret)
        said = [*answer.json().values()]
        if any(sentence in one for sentence in SENTENCES for one in said):
            refused.add(secret)

    assert refused & set(KEYS.values())
    assert refused & set(CARDS.values())
    _assert_nothing_is_kept(sandbox, caplog)


@pytest.mark.parametrize("name", PLATFORM)
def test_a_text_that_is_not_a_secret_is_not_refused(sandbox, name):
    request = Request(sandbox, name)
    harmless = ["table 12", "+49 151 30535805", "2026-08-30 10:12:15.604", "svc_live", LIVE[:-1]]

    for number, place in enumerate(_places(0, name), start=PLATFORM.index(name)):
        text = harmless[number % len(harmless)]
        body = spelt(planted(request.body, place, text))
        said = request.send(json_body=..., body=body).body.decode()
        assert [sentence for sentence in SENTENCES if sentence in said] == [], (place, text)

    assert Request(unchecked(SETTINGS), name).send().status < 300


# --- the control API ----------------------------------------------------------------------


def _control_places(name: str) -> list[Place]:
    """Those of the row's shape, and where it takes a scenario those of its file."""
    found = _places(1, name)
    if name in ("scenario.run", "worlds.create"):
        schema = scenario_schema()
        within = () if name == "scenario.run" else ("scenario",)
        found += [(*within, *place) for place in Places(schema, schema).all]
    return found


def _base(name: str) -> Any:
    content = usual_documents()[1].operations[name]["requestBody"]["content"]["application/json"]
    bases = {"scenario.run": STORY, "worlds.create": {"scenario": STORY}}
    return bases.get(name, content.get("example", {}))


@pytest.mark.thorough
@pytest.mark.proves("assumed D5, 6.4-unknown, 6.4-everywhere")
@pytest.mark.parametrize("name", CONTROL)
def test_no_field_of_a_control_body_takes_a_secret(sandbox, caplog, name):
    caplog.set_level(logging.INFO)
    method, path = usual_documents()[1].addresses[name]
    path = path.replace("{w}", "default")
    if "{id}" in path:
        path = path.replace("{id}", sandbox.add_endpoint()["id"])

    for place, secret in _all(_control_places(name), CONTROL.index(name)):
        body = spelt(planted(_base(name), place, secret))
        answer = sandbox.ask(method, path, body=body)

        told = answer.json()
        assert (answer.status, told["error"]) == (400, "validation_error"), (place, secret)
        assert place[0] == NAME or place[0] in told["message"], (place, told)
        is_card = told["message"].endswith("a card number is not allowed here")
        assert told["details"] == ("a test card is named by its token" if is_card else "")
        assert _left_in(answer.body.decode()) == [], (place, secret)

    assert [one.id for one in sandbox.sandbox.worlds] == ["default"]
    _assert_nothing_is_kept(sandbox, caplog)


@pytest.mark.parametrize("secret", ["4532%200151%201283%200366", "%34532015112830366", WHOLE])
def test_the_address_of_an_endpoint_hides_none_in_its_escapes(sandbox, caplog, secret):
    answer = sandbox.manage("POST", "/endpoints", {"url": f"http://127.0.0.1:9/hook?of={secret}"})

    assert (answer.status, answer.json()["message"].split(": ")[0]) == (400, "url")
    _assert_nothing_is_kept(sandbox, caplog)


# --- paths and queries ------------------------------------------------------------------------

NEEDS_A_LOOP = {"messages.wait", "stream.read"}


@pytest.mark.thorough
@pytest.mark.proves("assumed D5, 6.4-unknown, 6.4-everywhere")
@pytest.mark.parametrize("surface", [0, 1], ids=["the platform", "the control API"])
def test_no_path_and_no_query_has_one_kept(sandbox, caplog, surface):
    caplog.set_level(logging.INFO)
    described = usual_documents()[surface]
    tried = 0

    for name in sorted(described.operations.keys() - NEEDS_A_LOOP):
        method, path = described.addresses[name]
        parameters = described.operations[name].get("parameters", ())
        names = [one["name"] for one in parameters if one["in"] == "query"]
        patterns = ["{}", *(f"{name}={{}}" for name in names), "unknown={}", "{}=1"]
        for pattern in patterns if method == "GET" else patterns[:1]:
            tried += 1
            for secret in _in_turn(tried):
                tail = "%20".join(secret.split(" ")).replace("&", "").replace("\n", "%0A")
                parts = path.replace("{w}", "default").split("/")
                asked = "/".join(secret if part.startswith("{") else part for part in parts)
                query = "" if pattern == "{}" else pattern.format(tail)
                answer = sandbox.ask(
                    method, asked, key="merchant", query=query.encode().decode("latin-1")
                )
                assert answer.status < 500, (method, asked, query)
                if answer.status >= 400:
                    assert _left_in(answer.body.decode()) == [], (method, asked, query)

    _assert_nothing_is_kept(sandbox, caplog)
