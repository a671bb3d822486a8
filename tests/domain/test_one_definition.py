"""A record has one definition: a field that is added to its class is in everything made of it.

Answers, webhooks, fixtures, snapshots and OpenAPI are looked at in a process whose classes have a
field more.
"""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.domain.added_field import CLASSES

SHOWN = [
    name.replace("Transaction", "TransactionView")
    for names in CLASSES.values()
    for name in names
    if name != "Endpoint"
]
IN_FIXTURES = ("accounts", "terminals", "locations", "endpoints", "api_keys")
SAVED = (*IN_FIXTURES, "transactions")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = str(tmp_path_factory.mktemp("noted"))
    command = [sys.executable, "-m", "tests.domain.added_field", folder]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_an_added_field_is_answered_and_described_where_the_class_has_it(found):
    for name in SHOWN:
        names = list(found["answers"][name])

        assert names[names.index("note") + 1] in ("created_at", "opened_at"), name
        # The records of the fixture have it, and the payment of the snapshot; the others are new.
        is_new = name in ("CredentialView", "Batch")
        assert found["answers"][name]["note"] == (None if is_new else "abc"), name
        assert found["schemas"][name]["note"] == {"type": ["string", "null"]}, name
        assert list(found["schemas"][name]) == names


def test_webhooks_have_the_added_field(found):
    assert [body["note"] for body in found["bodies"]] == [None] * 3


def test_a_fixture_and_a_snapshot_keep_the_added_field(found):
    saved, again = found["snapshots"]

    assert found["loaded"] == 200
    assert {note for table in SAVED for note in saved[table]} == {"abc"}
    assert again == saved


def test_the_rule_of_the_added_field_holds_at_every_door(found):
    for door, tables in {"mistakes": IN_FIXTURES, "refusals": SAVED}.items():
        for table in tables:
            refusal = found[door][table]

            assert refusal.endswith("note: string should have at most 5 characters"), refusal
            assert f"{table}." in refusal or f"{table}, " in refusal
