"""A snapshot of each format that ever was opens under this version."""

import asyncio
import gzip
import json
from pathlib import Path

import pytest

from sandbox.app import build
from sandbox.domain.clock import ClockSetting
from sandbox.domain.instants import parse_rfc3339
from sandbox.domain.webhooks import Sent
from sandbox.settings import Settings
from sandbox.store.files.migrations import MIGRATIONS
from sandbox.store.files.plain import Plain
from sandbox.store.files.port import FORMAT
from sandbox.store.loading import counters_of, state_of
from sandbox.store.saved_world import NotRestored
from sandbox.store.steps import run_through
from sandbox.worlds.snapshot import parse_snapshot
from tests.conftest import NOW
from tests.driving import InProcess
from tests.payments.tapping import advance
from tests.state.filling import a_sandbox
from tests.support.payments import chosen, pay

FORMATS = Path(__file__).parent / "formats"
SNAPSHOTS = sorted(FORMATS.glob("snapshot-*.json"))


class Taking:
    """Takes every webhook, without a network."""

    async def send(self, url, body, headers):
        return Sent(status_code=204, duration_ms=0, response="", error=None)

    async def close(self):
        pass


@pytest.fixture
def sandbox():
    frozen = ClockSetting(now=parse_rfc3339(NOW), mode="frozen")
    return InProcess(build(Settings(clock=frozen), sender=Taking()))


def test_there_is_a_snapshot_of_every_format():
    names = [path.name for path in SNAPSHOTS]

    assert names == [f"snapshot-format-{number}.json" for number in range(1, FORMAT + 1)]


@pytest.mark.parametrize("name", [path.name for path in SNAPSHOTS])
def test_a_kept_snapshot_opens_and_goes_on(sandbox, name):
    answer = sandbox.ask(
        "PUT", "/_sandbox/worlds/default/snapshot", body=(FORMATS / name).read_bytes()
    )

    listed = sandbox.ask("GET", "/v2/transactions", key="psp").json()["transactions"]
    messages = sandbox.control("GET", "/worlds/default/messages", query="limit=200").json()
    fired = asyncio.run(advance(sandbox, "1h"))
    assert (answer.status, answer.json()["scenario"]) == (200, "kept")
    assert sorted((one["status"], one["total_amount"], one["refunded"]) for one in listed) == [
        ("captured", 4200, 200),
        ("declined", 1500, 0),
        ("pending", 900, 0),
        ("surcharge_pending", 10300, 0),
    ]
    dropped = [
        one["event_type"]
        for one in messages["messages"]
        if [delivery["status"] for delivery in one["deliveries"]] == ["dropped"]
    ]
    assert dropped == ["transaction.refund"]
    assert [one["kind"] for one in fired] == ["surcharge_expires", "late_answer"]
    assert chosen(pay(sandbox)) == "lost_card; source=queue; rule=queue"


def test_an_earlier_format_is_brought_here_step_by_step():
    document = json.loads((FORMATS / "snapshot-format-1.json").read_text(encoding="utf-8"))

    def renamed(tables):
        tables["world"] = [
            Plain(one.id, one.number, one.fields | {"begins": {"fixture": "two"}})
            for one in tables["world"]
        ]

    def counted(tables):
        tables["counters"] = [Plain("counters", 0, {"drawn": 7})]

    kept = run_through(
        parse_snapshot(document, newest=4, migrations=MIGRATIONS | {2: renamed, 3: counted})
    )

    assert (state_of(kept).begins.fixture, counters_of(kept).drawn) == ("two", 7)


@pytest.mark.parametrize(
    "edit",
    [
        {"meant_for": 5},
        {"busy": 7},
        {"counts": 1},
        {"clock": {"mode": "running", "rate": 1, "wall": []}},
        {"begins": []},
        {"begins": {"clock": 5}},
        {"seed": [1]},
        {"queue": 3},
    ],
)
def test_a_broken_document_of_an_earlier_format_is_refused(sandbox, edit):
    document = json.loads((FORMATS / "snapshot-format-1.json").read_text(encoding="utf-8"))
    next(iter(document["world"].values())).update(edit)

    answer = sandbox.control("PUT", "/worlds/default/snapshot", document)

    assert (answer.status, answer.json()["error"]) == (400, "not_restored")


DERIVED_SINCE = (
    "webhooks.timestamp",
    "application_id",
    "toml",
    "old_secrets",
    "disables_at",
    "examples",
)
"""Fields that came later, and follow from what earlier versions stored."""


def as_of_then(now, shown):
    """What is shown now, less the fields that came later and are null, empty or derived."""
    if isinstance(now, list) and isinstance(shown, list) and len(now) == len(shown):
        return [as_of_then(*both) for both in zip(now, shown, strict=True)]
    if isinstance(now, dict) and isinstance(shown, dict):
        return {
            name: as_of_then(value, shown.get(name))
            for name, value in now.items()
            if name in shown or (value not in (None, {}) and name not in DERIVED_SINCE)
        }
    return now


@pytest.mark.parametrize("kind", ["json", "db"])
def test_a_state_file_of_format_1_shows_what_it_showed(tmp_path, kind):
    file = tmp_path / f"state.{kind}"
    file.write_bytes(gzip.decompress((FORMATS / f"state-format-1.{kind}.gz").read_bytes()))
    shown = json.loads(gzip.decompress((FORMATS / "shown-format-1.json.gz").read_bytes()))

    for _ in range(2):
        # The second time it is of the present format.
        sandbox = a_sandbox(store=file)
        now = {
            place: sandbox.control(
                "GET", f"/worlds/{place.partition('?')[0]}", query=place.partition("?")[2]
            ).json()
            for place in shown
            if place not in ("transactions", "keys")
        }
        now["transactions"] = sandbox.ask(
            "GET", "/v2/transactions", key="psp", query="limit=100"
        ).json()
        now["keys"] = sandbox.ask("GET", "/v5/apikeys", key="partner", query="limit=100").json()
        assert as_of_then(now, shown) == shown
        asyncio.run(sandbox.sandbox.worlds.saver.close())


@pytest.mark.parametrize("found", [0, FORMAT + 1, "1", None])
def test_an_unknown_format_is_refused(found):
    document = {"file": {"1": {"program": "uat-sandbox", "format": found}}}

    with pytest.raises(NotRestored, match=r"^file: "):
        run_through(parse_snapshot(document))
