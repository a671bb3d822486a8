"""Endpoints that a start, a fixture or a scenario declares. Source: assumed 8.3-declared."""

import asyncio
import json

import pytest

from sandbox import library
from sandbox.app import build
from sandbox.settings import Settings, SettingsError
from sandbox.store.fixture import FixtureError
from sandbox.webhooks.signing import write_secret
from tests.control.refusals import assert_refused
from tests.driving import InProcess

URL, OTHER = "http://127.0.0.1:9/one", "http://127.0.0.1:9/two"
IMPOSSIBLE = "http://receiver.invalid/?answers=999"
SECRET = write_secret(b"k" * 32)
SCENARIO = "/worlds/default/scenario"


def started(**settings):
    return InProcess(build(Settings(**settings)))


def endpoints(sandbox):
    return {one["id"]: one for one in sandbox.look("endpoints")["endpoints"]}


@pytest.mark.proves("assumed 8.3-declared")
def test_webhooks_go_to_the_urls_given_at_the_start(tmp_path):
    sandbox = started(webhooks=(URL, OTHER, URL), store=tmp_path / "state.json")
    made = endpoints(sandbox)
    asyncio.run(sandbox.sandbox.worlds.saver.close())
    # A state file has them already.
    again = started(webhooks=(OTHER, URL), store=tmp_path / "state.json")
    alone = started(webhooks=(URL,))
    alone.sold()

    assert {id: one["url"] for id, one in made.items()} == {"start-1": URL, "start-2": OTHER}
    assert endpoints(again) == made
    assert alone.types_reached("start-1")[:2] == ["transaction.create", "batch.opened"]


def test_a_url_that_cannot_be_is_refused_at_the_start():
    key = "svc_live_abcdefghijkl_abcdefghijklmnopqrstuvwxyz012345"
    # A server for others sends to no internal address.
    for url, is_shared in (
        ("nonsense", False),
        (f"https://x.test/?k={key}", False),
        (URL, True),
        (IMPOSSIBLE, False),
    ):
        with pytest.raises(SettingsError, match=r"^--webhook: ") as caught:
            started(webhooks=(url,), shared=is_shared)

        assert "svc_live" not in str(caught.value)


def fixture_with(path, **endpoint):
    document = json.loads((library.folder("fixtures") / "demo.json").read_text(encoding="utf-8"))
    hook = {"cast": "shop", "url": URL, "created_at": "2025-01-06T09:00:00.000Z"} | endpoint
    document["endpoints"] = {"1": hook}
    file = path / "mine.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    return str(file)


@pytest.mark.proves("assumed 8.3-declared")
def test_a_fixture_has_endpoints(tmp_path):
    asked = {
        "event_types": ["transaction.sale"],
        "filters": {"status": ["captured"]},
        "secret": SECRET,
        "description": "mine",
    }
    sandbox = started(fixture=fixture_with(tmp_path, account="merchant", **asked))
    sandbox.sold()

    (made,) = endpoints(sandbox).values()
    assert made | asked == made
    assert (made["id"], made["account_id"]) == ("shop", sandbox.account_id("merchant"))
    assert sandbox.types_reached("shop") == ["transaction.sale"]
    sandbox.manage("DELETE", "/endpoints/shop")
    sandbox.reset()
    assert endpoints(sandbox) == {"shop": made}


def test_a_fixture_with_an_impossible_endpoint_is_refused_and_says_where(tmp_path):
    for wrong, said in (
        ({"account": "merchnt"}, "did you mean 'merchant'"),
        ({"sekret": "x"}, "did you mean 'secret'"),
        ({"filters": {"status": ["caught"]}}, "endpoints.1.filters"),
        ({"url": IMPOSSIBLE}, "endpoints.1.url: a built-in receiver: answers"),
    ):
        with pytest.raises(FixtureError) as caught:
            started(fixture=fixture_with(tmp_path, **wrong))

        assert said in str(caught.value)


# --- a scenario -------------------------------------------------------------------------------


def scenario(**endpoint):
    return {"name": "mine", "endpoint": [{"name": "mine", "url": URL} | endpoint]}


@pytest.mark.proves("assumed 8.3-declared")
def test_a_scenario_registers_its_endpoints_and_they_stay_after_it(sandbox):
    asked = {"account": "merchant", "event_types": ["transaction.sale"], "status": "captured"}
    assert sandbox.control("PUT", SCENARIO, scenario(**asked)).status == 200
    (first,) = endpoints(sandbox).values()
    assert sandbox.control("PUT", SCENARIO, scenario(**asked) | {"about": "again"}).status == 200
    sandbox.control("DELETE", SCENARIO)
    sandbox.sold()

    assert endpoints(sandbox) == {"mine": first}
    assert first["account_id"] == sandbox.account_id("merchant")
    assert first["filters"] == {"status": ["captured"]}
    assert sandbox.types_reached("mine") == ["transaction.sale"]
    # They keep their state when it starts again.
    sandbox.manage("PATCH", "/endpoints/mine", {"disabled": True})
    sandbox.control("PUT", SCENARIO, scenario(url=OTHER))
    (kept,) = endpoints(sandbox).values()
    assert (kept["url"], kept["disabled_reason"]) == (OTHER, "disabled by hand")


def test_a_rotated_secret_stays_when_the_scenario_starts_again(sandbox):
    sandbox.control("PUT", SCENARIO, scenario())
    rotated = sandbox.manage("POST", "/endpoints/mine/rotate-secret", {}).json()["secret"]

    sandbox.control("PUT", SCENARIO, scenario() | {"about": "again"})
    assert endpoints(sandbox)["mine"]["secret"] == rotated
    sandbox.control("PUT", SCENARIO, scenario(secret=SECRET))
    assert endpoints(sandbox)["mine"]["secret"] == SECRET


def test_an_impossible_endpoint_of_a_scenario_is_refused_with_its_place(sandbox):
    for wrong, nearest, said in (
        ({"url": "nonsense"}, None, "endpoint 1 'mine', url: "),
        ({"url": IMPOSSIBLE}, None, "a built-in receiver: answers"),
        ({"event_types": ["transaction.sales"]}, "transaction.sale", "endpoint 1 'mine', "),
        ({"acount": "merchant"}, "account", "endpoint 1"),
        ({"account": "merchnt"}, "merchant", "account: "),
        ({"secret": "short"}, None, "endpoint 1 'mine', secret: "),
        ({"name": "a b"}, None, "endpoint 1"),
    ):
        answer = sandbox.control("PUT", SCENARIO, scenario(**wrong))

        assert_refused(answer, 400, "validation_error", nearest)
        assert said in answer.json()["message"]
    assert endpoints(sandbox) == {}
    assert sandbox.control("GET", SCENARIO).status == 404
