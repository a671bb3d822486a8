"""`sandbox export postman`: a collection whose every request succeeds, in its order."""

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.app import build
from sandbox.platform.openapi.examples import EXAMPLES
from sandbox.settings import Settings
from tests.cli.asking import ask, assert_refused, told
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
    sale = next(one for one in items(collection) if one["request"]["url"].endswith("/v3/payment"))
    assert runner.send(sale) == 200, "alone, in the world that is there anyway"

    statuses = [runner.send(item) for _ in range(2) for item in items(collection)]

    assert all(200 <= status < 300 for status in statuses)
    assert len(statuses) > 2 * len(EXAMPLES)
    listed = runner.sandbox.ask("GET", "/_sandbox/worlds").json()["worlds"]
    assert [world["id"] for world in listed] == ["default"]


def test_it_can_be_written_to_a_file_for_another_server_with_another_header(tmp_path):
    out, profile = tmp_path / "collection.json", tmp_path / "mine.toml"
    profile.write_text('api_key_header = "X-Own-Key"\n')

    options = ("--server", "http://127.0.0.1:9000/", "--profile", str(profile))
    said = told("export", "postman", "--out", str(out), *options)
    missing = str(tmp_path / "nowhere" / "collection.json")
    assert_refused(ask("export", "postman", "--out", missing), 2, "--out", "nowhere")

    assert str(out) in said
    shown = json.loads(out.read_text())
    variables = {one["key"]: one["value"] for one in shown["variable"]}
    assert variables["baseUrl"] == "http://127.0.0.1:9000"
    headers = {one["key"] for item in items(shown) for one in item["request"]["header"]}
    assert "X-Own-Key" in headers
    assert "x-service-apikey" not in headers


def test_requests_of_the_journal_are_written_as_a_file(shell, tmp_path):
    shell.request("GET", "/v5/apikeys")
    out = tmp_path / "requests.har"

    shown = shell("export requests")
    said = shell(f"export requests --as har --out {out}")
    shell.pay(amount=100)
    scenario = tomllib.loads(shell("export requests --as scenario"))

    assert "$KEY_MERCHANT" in shown
    assert shell.world["keys"]["merchant"]["key"] not in shown
    assert said == f"wrote 1 request to {out}\n"
    assert len(json.loads(out.read_text(encoding="utf-8"))["log"]["entries"]) == 1
    assert [one["send"]["amount"] for one in scenario["example"]] == [100]
