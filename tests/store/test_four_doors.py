"""One schema for each record: a value that one door refuses, all four refuse, naming the field.

The doors are a body of the API, a fixture file, a snapshot that is put, and a state file at start.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sandbox.app import build
from sandbox.domain.clock import ClockSetting
from sandbox.domain.instants import parse_rfc3339
from sandbox.settings import Settings
from sandbox.store.files.port import StoreError
from sandbox.store.fixture import FixtureError
from sandbox.webhooks.signing import write_secret
from tests.conftest import NOW
from tests.directory import contract
from tests.directory.making import a_credential
from tests.driving import InProcess, Response
from tests.state.looping import a_looping_sandbox
from tests.support.payments import paid

SNAPSHOT = "/_sandbox/worlds/default/snapshot"
ENDPOINTS = "/_sandbox/worlds/default/endpoints"
DEMO = Path(__file__).parents[2] / "fixtures" / "demo.json"
SECRET = write_secret(b"k" * 32)

Document = dict[str, Any]
Saved = tuple[Document, Document]
"""A state file and a snapshot."""

Values = dict[str, dict[str, tuple[Any, ...]]]
"""Values by kind of record and field."""


@dataclass(frozen=True)
class Kind:
    """A kind of record: its table, how the API makes one, and the document that is edited."""

    table: str
    path: str = ""
    create: Callable[[InProcess], Document] = lambda sandbox: {}
    is_the_one: Callable[[Document], bool] = lambda document: True
    id: str = "_id"
    changed: str = "status"


KINDS = {
    "account": Kind("accounts", is_the_one=lambda one: one["name"] == "Barton Springs Bistro"),
    "terminal": Kind("terminals"),
    "location": Kind("locations"),
    "api_key": Kind(
        "api_keys",
        "/v5/apikeys",
        lambda sandbox: {"name": "Till", "permissions": ["payments:read"]},
        lambda one: one["name"] == "Demo merchant key",
    ),
    "credential": Kind(
        "credentials",
        "/v1/accounts/credentials",
        lambda sandbox: {"account_id": sandbox.account("merchant")},
        changed="is_active",
    ),
    "endpoint": Kind(
        "endpoints", ENDPOINTS, lambda sandbox: {"url": "http://127.0.0.1:9/other"}, id="id"
    ),
}


def _by_field(pairs: Iterable[tuple[str, Any]]) -> dict[str, tuple[Any, ...]]:
    """Values by field, but for the fields that no fixture has."""
    found: dict[str, tuple[Any, ...]] = {}
    for name, value in pairs:
        if name not in ("var_sheet", "organization_id") and "." not in name:
            found[name] = (*found.get(name, ()), value)
    return found


LARGE = {one.name: one for one in contract.LARGE}
"""Of these, `directory/test_contract.py` proves what the API says to the same values."""

BAD: Values = {
    **{name: _by_field((*one.bad, *one.bad_updated)) for name, one in LARGE.items()},
    "api_key": {
        "name": ("", 7),
        "permissions": ([], ["fly"], ["payments:read", ""], [7], "all"),
        "expires_at": (7, "tomorrow", "2030-01-01", "2030-02-30T00:00:00Z"),
        "status": ("burnt", 1),
    },
    "credential": {
        "code": ("12345", "1234567890123", "", 123456789012),
        "is_active": ("yes", 1),
    },
    "endpoint": {
        "id": ("a b", "a/b", "ä", "", "x" * 65, 7),
        "url": (
            *("http://user:pw@host/x#f", "http://user@host/", "http://host/x#f", "http://"),
            *("ftp://host/", "host/x", "http://ho st/", "http://host:99999/", "http://höst/"),
            *("http://[", "", 7, "http://host/" + "x" * 2048, "/hooks", "file:///etc/passwd"),
            *("http:///x", "http://host:port/", "http://host/ä", "http://h/\n"),
        ),
        "secret": ("", "whsec_", "whsec_c2hvcnQ=", SECRET.removeprefix("whsec_"), 7),
        "description": ("d" * 501, 7),
        "event_types": (["lunch"], ["transaction.sale", 7], "transaction.sale"),
        "filters": ({"colour": ["red"]}, {"status": ["lunch"]}, {"status": "captured"}, []),
        "account_id": (7,),
    },
}
"""Kind of record, field, and the values that no door may let in."""

GOOD: Values = {
    **{name: _by_field(one.changes) for name, one in LARGE.items()},
    "api_key": {"permissions": (["all"], ["payments:read", "batches:read"]), "name": ("T",)},
    "credential": {"code": ("123456789012", "abcdefghijkl")},
    "endpoint": {
        "url": ("http://127.0.0.1:9000/hook", "https://example.com:8443/a?b=c%20d"),
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
    with a_looping_sandbox(store=path) as sandbox:
        a_credential(sandbox)
        body = {"id": "mine", "url": "http://127.0.0.1:9/hook", "secret": SECRET}
        assert sandbox.ask("POST", ENDPOINTS, json_body=body).status == 201
        snapshot = sandbox.ask("GET", SNAPSHOT).json()
    return json.loads(path.read_bytes()), snapshot


def _sandbox(**more: Any) -> InProcess:
    frozen = ClockSetting(now=parse_rfc3339(NOW), mode="frozen")
    return InProcess(build(Settings(clock=frozen, **more)))


def _edited(whole: Document, table: str, kind: Kind, name: str, value: Any) -> Document:
    """The document with another value in one field of the one record."""
    tables: Document = json.loads(json.dumps(whole))
    one = next(one for one in tables[table].values() if kind.is_the_one(one))
    one[name] = value
    if kind.id == name:
        one["_id"] = value if isinstance(value, str) else one["_id"]
    return tables


# --- the doors --------------------------------------------------------------------------------

Door = Callable[[str, str, Any, Saved, Path], str | None]
"""Tries a value of a field; what it says where it refuses, None where it takes it."""


def _said(answer: Response) -> str | None:
    if answer.status < 300:
        return None
    assert answer.status == 400, answer.body
    return answer.body.decode()


def through_the_api(name: str, field: str, value: Any, saved: Saved, folder: Path) -> str | None:
    kind, sandbox = KINDS[name], _sandbox()
    body = kind.create(sandbox)
    if field != kind.changed:
        return _said(sandbox.ask("POST", kind.path, key="partner", json_body=body | {field: value}))
    created = sandbox.ask("POST", kind.path, key="partner", json_body=body)
    assert created.status == 201, created.body
    fields = created.json()
    path = f"{kind.path}/{fields.get('id') or fields['terminal_id']}"
    return _said(sandbox.ask("PUT", path, key="partner", json_body={field: value}))


def through_a_fixture(name: str, field: str, value: Any, saved: Saved, folder: Path) -> str | None:
    """A fixture of documents; of a saved world where other fixtures have no such record."""
    kind, path = KINDS[name], folder / "mine.json"
    whole = json.loads(DEMO.read_bytes())
    whole = whole if kind.table in whole else saved[1]
    path.write_text(json.dumps(_edited(whole, kind.table, kind, field, value)), encoding="utf-8")
    said = _refusal(lambda: _sandbox(fixture=str(path)))
    assert said is None or str(path) in said
    return said


def through_a_snapshot(name: str, field: str, value: Any, saved: Saved, folder: Path) -> str | None:
    kind = KINDS[name]
    body = json.dumps(_edited(saved[1], kind.table, kind, field, value)).encode()
    said = _said(_sandbox().ask("PUT", SNAPSHOT, body=body))
    assert said is None or f"{kind.table}, " in said
    return said


def through_a_state_file(
    name: str, field: str, value: Any, saved: Saved, folder: Path
) -> str | None:
    kind, path = KINDS[name], folder / "state.json"
    edited = _edited(saved[0], f"default.{kind.table}", kind, field, value)
    path.write_text(json.dumps(edited), encoding="utf-8")
    said = _refusal(lambda: _start(path))
    assert said is None or f"{kind.table}, " in said
    return said


def _start(path: Path) -> None:
    saver = _sandbox(store=path).sandbox.worlds.saver
    assert saver is not None
    saver.file.close()


def _refusal(start: Callable[[], object]) -> str | None:
    """What a start says that does not begin; None where it does."""
    try:
        start()
    except (FixtureError, StoreError) as error:
        return str(error)
    return None


DOORS: tuple[Door, ...] = (
    through_the_api,
    through_a_snapshot,
    through_a_fixture,
    through_a_state_file,
)


def _fields(table: Values) -> list[tuple[str, str]]:
    return [(kind, name) for kind, fields in table.items() for name in fields]


def _tried(
    table: Values, kind: str, name: str, saved: Saved, folder: Path
) -> dict[tuple[str, str], str | None]:
    """What doors say to the values: the API and a snapshot to each, files to the first.

    A file is read with the same models as a snapshot.
    """
    first, *others = table[kind][name]
    doors = DOORS[1:] if kind in LARGE else DOORS
    tries = [(door, first) for door in doors]
    tries += [(door, value) for value in others for door in doors[:-2]]
    return {
        (door.__name__, repr(value)[:60]): door(kind, name, value, saved, folder)
        for door, value in tries
    }


def test_a_bad_value_is_refused_and_its_field_named(saved: Saved, tmp_path: Path) -> None:
    for kind, name in _fields(BAD):
        said = _tried(BAD, kind, name, saved, tmp_path)

        assert [case for case, sentence in said.items() if sentence is None] == [], (kind, name)
        assert [sentence for sentence in said.values() if name not in (sentence or "")] == []


def test_a_good_value_is_taken(saved: Saved, tmp_path: Path) -> None:
    for kind, name in _fields(GOOD):
        said = _tried(GOOD, kind, name, saved, tmp_path)

        assert {case: why for case, why in said.items() if why is not None} == {}, (kind, name)


def test_the_rows_cover_every_table_that_people_edit(saved: Saved) -> None:
    records = {kind.table for kind in KINDS.values()}

    assert records <= set(saved[1])
    assert set(BAD) == set(GOOD) == set(KINDS)


# --- what is no record of its own -------------------------------------------------------------

Edit = Callable[[Document], None]


def _world(**fields: Any) -> Edit:
    return lambda tables: next(iter(tables["world"].values())).update(fields)


def _queued(**fields: Any) -> Edit:
    return _world(queue=[{"outcome": "approved", **fields}])


def _begins(**fields: Any) -> Edit:
    return lambda tables: next(iter(tables["world"].values()))["begins"].update(fields)


def _generated(**counts: Any) -> Edit:
    return _begins(generated_data={"merchants": 1, **counts})


def _rates(**fields: Any) -> Edit:
    return lambda tables: next(iter(tables["transactions"].values()))["transaction"].update(fields)


@pytest.fixture(scope="module")
def sold() -> Document:
    """A snapshot of a world with a payment."""
    sandbox = _sandbox()
    paid(sandbox)
    snapshot: Document = sandbox.ask("GET", SNAPSHOT).json()
    return snapshot


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (_begins(name="n" * 201), "begins.name"),
        (_queued(amount=0), "queue.amount"),
        (_queued(amount=100_000_000), "queue.amount"),
        (_queued(approved_amount=-5), "queue.approved_amount"),
        (_queued(delay_ms=3_600_001), "queue.delay_ms"),
        (_generated(merchants=10_001), "begins.generated_data.merchants"),
        (_generated(merchants=-1), "begins.generated_data.merchants"),
        (_generated(merchants=10_000, terminals_per_merchant=6), "begins.generated_data"),
        (_rates(tax_rate=-5), "transaction.tax_rate"),
        (_rates(surcharge_rate=400.0), "transaction.surcharge_rate"),
        (_rates(surcharge_basis="nonsense"), "transaction.surcharge_basis"),
        (_rates(tax_basis="Total"), "transaction.tax_basis"),
    ],
)
def test_a_snapshot_says_elsewhere_too_only_what_the_api_takes(
    edit: Edit, named: str, sold: Document
) -> None:
    tables = json.loads(json.dumps(sold))
    edit(tables)

    answer = _sandbox().ask("PUT", SNAPSHOT, body=json.dumps(tables).encode())

    assert (answer.status, answer.json()["error"]) == (400, "not_restored")
    assert f": {named}: " in answer.json()["message"]
