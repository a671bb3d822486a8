"""`sandbox export postman`: a collection whose every request succeeds, in its order."""

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.app import build
from sandbox.platform.openapi.examples import EXAMPLES, FOLDERS
from sandbox.settings import Settings
from tests.cli.asking import add_world, ask, assert_refused, told
from tests.driving import InProcess

BASE = "http://127.0.0.1:8080"


@pytest.fixture(scope="module")
def collection() -> dict[str, Any]:
    shown: dict[str, Any] = json.loads(told("export", "postman"))
    return shown


def items(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for item in part["item"]:
        if "item" in item:
            yield from items(item)
        else:
            yield item


class Runner:
    """Does with a collection what Postman does, as far as ours needs it."""

    def __init__(self, collection: dict[str, Any]) -> None:
        self.sandbox = InProcess(build(Settings()))
        self.variables = {one["key"]: one["value"] for one in collection["variable"]}

    def filled(self, text: str) -> str:
        return re.sub(r"\{\{(\w+)\}\}", lambda found: self.variables[found[1]], text)

    def send(self, item: dict[str, Any]) -> int:
        request = item["request"]
        headers = [
            (one["key"].encode(), self.filled(one["value"]).encode()) for one in request["header"]
        ]
        body = self.filled(request["body"]["raw"]).encode() if "body" in request else None
        path = self.filled(request["url"]).removeprefix(BASE)
        answer = self.sandbox.ask(
            request["method"], path, body=body, headers=[(b"host", b"127.0.0.1:8080"), *headers]
        )
        script = "\n".join(item["event"][0]["script"]["exec"])
        if "world.keys" in script:
            world = answer.json()
            self.variables["world"] = world["id"]
            self.variables |= {f"key_{name}": key["key"] for name, key in world["keys"].items()}
            for kind in ("accounts", "terminals", "locations"):
                self.variables |= {f"{kind}_{name}": id for name, id in world[kind].items()}
        elif stored := re.search(r'collectionVariables\.set\("(\w+)", id\)', script):
            made = answer.json()
            assert answer.status < 300, (item["name"], path, made)
            self.variables[stored[1]] = (
                made.get("transaction_id") or made.get("id") or made["terminal_id"]
            )
        assert f"have.status({answer.status})" in script, (item["name"], path, answer.body)
        return answer.status


def test_every_request_of_the_collection_succeeds_twice_in_a_row(collection):
    runner = Runner(collection)

    statuses = [runner.send(item) for _ in range(2) for item in items(collection)]

    assert all(200 <= status < 300 for status in statuses)
    assert len(statuses) > 2 * len(EXAMPLES)
    listed = runner.sandbox.ask("GET", "/_sandbox/worlds").json()["worlds"]
    assert [world["id"] for world in listed] == ["default"]


def test_a_single_request_goes_to_the_world_that_is_there_anyway(collection):
    runner = Runner(collection)
    (sale,) = [one for one in items(collection) if one["request"]["url"].endswith("/v3/payment")][
        :1
    ]

    assert runner.send(sale) == 200


def test_the_folders_are_the_resources_of_the_platform(collection):
    folders = [one["name"] for one in collection["item"] if "item" in one]

    assert folders == list(FOLDERS)
    assert {name.partition(".")[0] for name in EXAMPLES} == set(FOLDERS)


def test_it_can_be_written_to_a_file_for_another_server(tmp_path):
    out = tmp_path / "collection.json"

    said = told("export", "postman", "--out", str(out), "--server", "http://127.0.0.1:9000/")

    assert str(out) in said
    variables = {one["key"]: one["value"] for one in json.loads(out.read_text())["variable"]}
    assert variables["baseUrl"] == "http://127.0.0.1:9000"


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    out = tmp_path / "nowhere" / "collection.json"

    assert_refused(ask("export", "postman", "--out", str(out)), 2, "--out", "nowhere")


def test_with_a_profile_the_header_is_that_of_the_platform(tmp_path):
    profile = tmp_path / "mine.toml"
    profile.write_text('api_key_header = "X-Own-Key"\n')

    shown = json.loads(told("export", "postman", "--profile", str(profile)))

    headers = {one["key"] for item in items(shown) for one in item["request"]["header"]}
    assert "X-Own-Key" in headers
    assert "x-service-apikey" not in headers


def test_requests_of_the_journal_are_written_as_a_file(served, tmp_path):
    world = add_world(served, "export-requests")
    key = world["keys"]["merchant"]["key"]
    served.ask("GET", "/v5/apikeys", key=key)
    at, out = ("--world", world["id"]), tmp_path / "requests.har"

    shown = told("export", "requests", *at, server=served)
    said = told("export", "requests", "--as", "har", "--out", str(out), *at, server=served)
    refused = ask("export", "requests", "req_none", *at, server=served)

    assert "$KEY_MERCHANT" in shown
    assert key not in shown
    assert said == f"wrote 1 request to {out}\n"
    assert len(json.loads(out.read_text(encoding="utf-8"))["log"]["entries"]) == 1
    assert (refused.exit_code, "req_none" in refused.stderr) == (2, True)
    body = {"amount": 100, "terminal_id": world["terminals"]["merchant"]}
    served.ask("POST", "/v3/payment", key=key, json=body)
    scenario = told("export", "requests", "--as", "scenario", *at, server=served)
    assert [one["send"]["amount"] for one in tomllib.loads(scenario)["example"]] == [100]
