"""A fixture, a saved world or a scenario that somebody brings holds no secret, whatever the field.

Source: assumed D5, D26, 6.4-everywhere.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.scenarios.parser import ScenarioError
from sandbox.store.fixture import FixtureError
from tests.driving import InProcess, fresh
from tests.openapi.planting import LIVE, PRODUCTION, WHOLE, Place, planted
from tests.platform.conftest import PROJECT
from tests.properties import IS_THOROUGH
from tests.state.filling import KEPT_KEY, a_sandbox, fill

SECRETS = {
    "a production key": (PRODUCTION, "a production key must never be sent to a sandbox"),
    "a whole key": (f"key {WHOLE}", "an API key is not allowed here"),
    "a card number": ("4532.0151.1283.0366", "a card number is not allowed here"),
}


def _texts(value: Any, place: Place = ()) -> Iterator[Place]:
    """Where texts are in a document; of a list, its first element."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "_claims":
                # What such a document claims is not read.
                continue
            yield from _texts(inner, (*place, name))
    elif isinstance(value, list) and value:
        yield from _texts(value[0], (*place, "[]"))
    elif isinstance(value, str):
        yield place


@pytest.fixture(scope="module")
def full() -> dict[str, Any]:
    """A saved world with everything in it, which was changed: so it is looked through."""
    sandbox = a_sandbox()
    fill(sandbox)
    saved = sandbox.look("snapshot")
    (world,) = saved["world"].values()
    world["begins"]["name"] = "changed"
    return saved


def _put(sandbox: InProcess, saved: dict[str, Any]) -> tuple[int, str]:
    answer = sandbox.manage("PUT", "/snapshot", saved)
    return answer.status, str(answer.json().get("message"))


@pytest.mark.proves("assumed D26")
def test_a_saved_world_has_masked_cards_and_a_readable_key_in_one_place_and_comes_back(full):
    saved = json.dumps(full)
    assert saved.count(KEPT_KEY) == saved.count(f'"readable_key": "{KEPT_KEY}"') == 1
    assert "476173******0011" in saved
    # Neither whole nor its secret part; the keys of `default` are those of every sandbox.
    keys = a_sandbox().cast.plaintexts
    assert {name for name in keys if keys[name][-32:] in saved} == {"legacy", "retrievable"}

    assert _put(a_sandbox(), full) == (200, "None")


def test_a_saved_world_may_have_a_key_whose_digest_begins_like_a_card_with_its_expiry(full):
    digest = "3960022921605784d32403720b89367552c2ad2fa3507ab1434580b97163c13b"
    (number, key), *_ = full["api_keys"].items()
    keys = full["api_keys"] | {number: key | {"digest": digest}}

    assert _put(a_sandbox(), full | {"api_keys": keys}) == (200, "None")


@pytest.mark.proves("assumed D5, 6.4-unknown, 6.4-everywhere")
@pytest.mark.hypothesis
@pytest.mark.parametrize("what", SECRETS)
def test_no_text_of_a_saved_world_may_hold_one(full, what):
    secret, sentence = SECRETS[what]
    turn = list(SECRETS).index(what)
    sandbox = a_sandbox()
    before = sandbox.saved()
    said = []

    # Of records there is one of each shape.
    tables = [(table, number) for table, found in full.items() for number in list(found)[:2]]
    for table, number in tables:
        if table == "file":
            continue
        places = list(_texts(full[table][number]))
        # Where there is no time for all, each secret has other places.
        for place in places if IS_THOROUGH else places[turn :: 2 * len(SECRETS)]:
            broken = full | {
                table: full[table] | {number: planted(full[table][number], place, secret)}
            }
            status, message = _put(sandbox, broken)
            assert status == 400, (table, place)
            assert secret not in message
            assert LIVE not in message
            said.append(message)

    # Some are an id, which is looked at first.
    assert sum(sentence in message for message in said) > len(said) * 0.7 > 25
    assert sandbox.saved() == before


@pytest.mark.proves("assumed 6.4-everywhere")
def test_a_card_number_written_as_a_json_number_is_refused_too(full):
    card, records = 4532015112830366, full["records"]
    id = next(iter(records))
    for number in (card, str(card), float(card)):
        record = records[id] | {"body": {"anything": [1, number]}}

        status, message = _put(a_sandbox(), full | {"records": records | {id: record}})

        assert status == 400
        assert "body.anything: a card number is not allowed here" in message


def test_a_key_of_a_sandbox_is_allowed_in_its_one_field(full):
    for table, field, key, is_taken in [
        ("api_keys", "readable_key", KEPT_KEY, True),
        ("api_keys", "name", KEPT_KEY, False),
        ("accounts", "readable_key", KEPT_KEY, False),
        ("endpoints", "description", KEPT_KEY, False),
        ("api_keys", "readable_key", PRODUCTION, False),
    ]:
        number = next(iter(full[table]))
        changed = full | {table: full[table] | {number: full[table][number] | {field: key}}}

        status, message = _put(a_sandbox(), changed)

        assert (status == 200) is is_taken, (table, field, message)
        assert key is KEPT_KEY or f"{field}: {SECRETS['a production key'][1]}" in message


# --- files ------------------------------------------------------------------------------------


@pytest.mark.proves("assumed D5, 6.4-unknown, 6.4-everywhere")
@pytest.mark.parametrize("what", SECRETS)
def test_no_text_of_a_fixture_may_hold_one(tmp_path: Path, what):
    secret, sentence = SECRETS[what]
    path = tmp_path / "mine.json"
    for table, place in [
        ("accounts", ("name",)),
        ("accounts", ("address", "city")),
        ("terminals", ("mid",)),
        ("locations", ("phone",)),
        ("api_keys", ("name",)),
    ]:
        fixture = json.loads((PROJECT / "fixtures" / "demo.json").read_text("utf-8"))
        number = next(iter(fixture[table]))
        fixture[table][number] = planted(fixture[table][number], place, secret)
        path.write_text(json.dumps(fixture), encoding="utf-8")

        with pytest.raises(FixtureError) as refused:
            fresh(fixture=str(path))

        assert str(refused.value) == f"{path}: {table}, {number}: {'.'.join(place)}: {sentence}"


SCENARIO = """
name = "story"
about = "a story of money"

[[rule]]
name = "a rule of three"
when.operation = "sale"
then.outcome = "lost_card"

[[webhook]]
when.event = "transaction.sale"
then.contradict = { status = "declined" }
"""
PLACES = {"money": "about", "three": "rule.name", "declined": "webhook.then.contradict.status"}
"""Words of it that a secret takes the place of, and where they stand."""


@pytest.mark.proves("assumed D5, 6.4-unknown, 6.4-everywhere")
def test_no_text_of_a_scenario_file_may_hold_one(tmp_path: Path):
    path = tmp_path / "story.toml"
    for secret, sentence in SECRETS.values():
        for word, named in PLACES.items():
            path.write_text(SCENARIO.replace(word, secret), encoding="utf-8")

            with pytest.raises(ScenarioError) as refused:
                fresh(scenario=str(path))

            assert str(refused.value) == f"{path}: {named}: {sentence}"
