"""One schema for each record: a value that one door refuses, all refuse, naming the field.

The doors are a body of the API, a fixture file, a snapshot that is put, and a state file at start.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.store.files.port import StoreError
from sandbox.store.fixture import FixtureError
from sandbox.webhooks.signing import write_secret
from tests.directory import contract
from tests.driving import InProcess, Response, fresh
from tests.state.filling import a_sandbox, looping

DEMO = Path(__file__).parents[2] / "fixtures" / "demo.json"
SECRET = write_secret(b"k" * 32)

Document = dict[str, Any]
Saved = tuple[Document, Document]
"""A state file and a snapshot."""

Values = dict[str, dict[str, tuple[Any, ...]]]
"""Values by table and field."""

NAMES = {"accounts": "Barton Springs Bistro", "api_keys": "Demo merchant key"}
"""The record of a table that is edited, where it is not the first."""


def _by_field(pairs: Iterable[tuple[str, Any]]) -> dict[str, tuple[Any, ...]]:
    """Values by field, but for the fields that no fixture has."""
    found: dict[str, tuple[Any, ...]] = {}
    for name, value in pairs:
        if name not in ("var_sheet", "organization_id") and "." not in name:
            found[name] = (*found.get(name, ()), value)
    return found


BAD: Values = {
    **{f"{one.name}s": _by_field((*one.bad, *one.bad_updated)) for one in contract.LARGE},
    "api_keys": {
        "name": ("", 7),
        "permissions": ([], ["fly"], ["payments:read", ""], [7], "all"),
        "expires_at": (7, "tomorrow", "2030-01-01", "2030-02-30T00:00:00Z"),
        "status": ("burnt", 1),
    },
    "credentials": {
        "code": ("12345", "1234567890123", "", 123456789012),
        "is_active": ("yes", 1),
    },
    "endpoints": {
        "id": ("a b", "a/b", "ä", "", "x" * 65, 7),
        "url": (
            *("http://user:pw@host/x#f", "http://user@host/", "http://host/x#f", "http://"),
            *("ftp://host/", "host/x", "http://ho st/", "http://host:99999/", "http://höst/"),
            *("http://[", "", 7, "http://host/" + "x" * 2048, "/hooks", "file:///etc/passwd"),
            *("http:///x", "http://host:port/", "http://host/ä", "http://h/\n"),
            *("http://receiver.invalid/?answers=999", "http://receiver.invalid/?anwsers=200"),
        ),
        "secret": ("", "whsec_", "whsec_c2hvcnQ=", SECRET.removeprefix("whsec_"), 7),
        "description": ("d" * 501, 7),
        "event_types": (["lunch"], ["transaction.sale", 7], "transaction.sale"),
        "filters": ({"colour": ["red"]}, {"status": ["lunch"]}, {"status": "captured"}, []),
        "account_id": (7,),
    },
}
"""The values that no door may let in.

What the API says to them is tested with the resource; to those of endpoints, here.
"""

GOOD: Values = {
    **{f"{one.name}s": _by_field(one.changes) for one in contract.LARGE},
    "api_keys": {"permissions": (["all"], ["payments:read", "batches:read"]), "name": ("T",)},
    "credentials": {"code": ("123456789012", "abcdefghijkl")},
    "endpoints": {
        "url": (
            *("http://127.0.0.1:9000/hook", "https://example.com:8443/a?b=c%20d"),
            "http://receiver.invalid/?answers=500,200&delay_ms=10",
        ),
        "event_types": ([], ["transaction.sale", "batch.opened"]),
        "filters": ({}, {"status": ["captured"], "processor": ["any name"]}),
        "secret": (SECRET,),
    },
}


# --- a world with one of everything -----------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    """A state file and a snapshot of a world with one of everything, which nobody has edited."""
    path = tmp_path_factory.mktemp("kept") / "state.json"
    with looping(a_sandbox(store=path)) as sandbox:
        sandbox.a_credential()
        sandbox.add_endpoint(id="mine", secret=SECRET)
        snapshot = sandbox.look("snapshot")
    return json.loads(path.read_bytes()), snapshot


def _edited(whole: Document, table: str, name: str, value: Any, prefix: str = "") -> str:
    """The document with another value in one field of the one record."""
    tables: Document = json.loads(json.dumps(whole))
    records = tables[prefix + table].values()
    one = next(one for one in records if NAMES.get(table) in (None, one.get("name")))
    one[name] = value
    if (table, name) == ("endpoints", "id") and isinstance(value, str):
        one["_id"] = value
    return json.dumps(tables)


# --- the doors --------------------------------------------------------------------------------

Said = str | None
"""What a door says where it refuses; None where it lets in."""


def _answered(answer: Response) -> Said:
    if answer.status < 300:
        return None
    assert answer.status == 400, answer.body
    return answer.body.decode()


def _begun(**more: Any) -> Said:
    """What a start says that does not begin."""
    try:
        saver = fresh(**more).sandbox.worlds.saver
    except (FixtureError, StoreError) as error:
        return str(error)
    if saver is not None:
        saver.file.close()
    return None


def _asked(
    sandbox: InProcess, table: str, field: str, value: Any, saved: Saved
) -> Iterator[tuple[str, Said]]:
    """The doors for a request, and what they say."""
    body = _edited(saved[1], table, field, value).encode()
    yield f"{table}, ", _answered(sandbox.load(body))
    if table == "endpoints":
        other = {"url": "http://127.0.0.1:9/other", field: value}
        yield "", _answered(sandbox.manage("POST", "/endpoints", other))


def _started(
    table: str, field: str, value: Any, saved: Saved, folder: Path
) -> Iterator[tuple[str, Said]]:
    """The doors for a file, and what they say. A file is read with the models of a snapshot."""
    mine, state = folder / "mine.json", folder / "state.json"
    demo = json.loads(DEMO.read_bytes())
    # Of a saved world where other fixtures have no such record.
    whole = demo if table in demo else saved[1]
    mine.write_text(_edited(whole, table, field, value), encoding="utf-8")
    yield str(mine), _begun(fixture=str(mine))
    state.write_text(_edited(saved[0], table, field, value, "default."), encoding="utf-8")
    yield f"{table}, ", _begun(store=state)


def _tried(rows: Values, saved: Saved, folder: Path) -> Iterator[tuple[str, str, str, Said]]:
    """What doors say to the values, files to the first, and the place that they name."""
    sandbox = fresh()
    for table, fields in rows.items():
        for field, values in fields.items():
            for value in values:
                said = [*_asked(sandbox, table, field, value, saved)]
                if value is values[0]:
                    said += _started(table, field, value, saved, folder)
                for place, text in said:
                    yield f"{table}, {field}: {value!r:.60}", field, place, text


def test_a_bad_value_is_refused_by_field(saved: Saved, tmp_path: Path) -> None:
    for case, field, place, said in _tried(BAD, saved, tmp_path):
        assert said is not None, case
        assert place in said, case
        assert field in said, case


def test_a_good_value_is_taken(saved: Saved, tmp_path: Path) -> None:
    for case, _, _, said in _tried(GOOD, saved, tmp_path):
        assert said is None, (case, said)
