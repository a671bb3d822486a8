"""`sandbox compare`: recorded traffic is replayed, and only true differences are found."""

import base64
import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.app import build
from sandbox.conformance.clients import InProcess as Stage
from sandbox.conformance.har import HarError, parse_har
from sandbox.conformance.replay import AS_IT_IS, Casting, Play, cast, explain, turns
from sandbox.domain.profile import Profile
from sandbox.settings import Settings
from tests.cli.asking import ask, assert_refused
from tests.cli.proxying import proxying, trusted_context
from tests.driving import InProcess, Response, Served

PAID, AGAIN, READ, LISTED, BAD_LIMIT, MADE = 2, 3, 5, 7, 8, 10
"""Numbers of requests of the recording."""


# --- a recording of the sandbox itself, as a proxy in front of it would write it ----------------

HOST = "https://uat.example.com/platform"
TIME = "2026-03-01T12:00:{:02d}.000Z"


class Recorder(InProcess):
    """Sends requests to a world of its own, and writes down those to the platform."""

    def __init__(self, seed: int, readings: dict[str, Any]) -> None:
        super().__init__(build(Settings()))
        begin = {"id": "recorded", "seed": seed, "clock": TIME.format(0), "readings": readings}
        assert self.control("POST", "/worlds", begin).status == 201
        self.world = "recorded"
        self.entries: list[dict[str, Any]] = []

    def carry_out(self, scope: dict[str, Any], payload: bytes) -> Response:
        if scope["path"].startswith("/_sandbox"):
            return super().carry_out(scope, payload)
        at = TIME.format(len(self.entries))
        self.control("POST", "/worlds/recorded/clock/advance", {"to": at})
        answer = super().carry_out(scope, payload)
        query = scope["query_string"].decode()
        headers = {name.decode().title(): value.decode() for name, value in scope["headers"]}
        request: dict[str, Any] = {
            "method": scope["method"],
            "url": HOST + scope["path"] + (query and f"?{query}"),
            "headers": [{"name": n, "value": v} for n, v in headers.items()],
        }
        if payload:
            request["postData"] = {"text": payload.decode()}
        content = {"mimeType": answer.headers["content-type"], "text": answer.body.decode()}
        response = {"status": answer.status, "content": content}
        self.entries.append({"startedDateTime": at, "request": request, "response": response})
        return answer

    def har(self) -> dict[str, Any]:
        """The recording so far, with a request for a page as a browser has it."""
        page = {
            "request": {"method": "GET", "url": "https://pos.example.com/app.js", "headers": []},
            "response": {"status": 200, "content": {}},
            "startedDateTime": TIME.format(0),
        }
        last = json.loads(json.dumps(self.entries[-1]))
        content = last["response"]["content"]
        content["text"] = base64.b64encode(content["text"].encode()).decode()
        content["encoding"] = "base64"
        return {"log": {"version": "1.2", "entries": [page, *self.entries[:-1], last]}}


def recorded(**readings: Any) -> dict[str, Any]:
    """A day at a shop: payments, refusals, a key that is made and used, terminals, a batch."""
    shop = Recorder(7, readings)
    second = "second_merchant"
    sale = shop.paid(at=second, by=second, event_id="e-1")
    shop.pay(at=second, by=second, event_id="e-1")
    shop.act(sale, "refund", by=second, version="v3", amount=100, event_id="e-2")
    shop.read(sale, by=second)
    shop.get("/v1/batches", by=second)
    shop.get("/v2/terminals")
    shop.get("/v2/terminals", query="limit=0")
    shop.get("/v2/terminals", by="svc_uat_nobody000000_" + "x" * 32)
    key = {"name": "till", "permissions": ["terminals:read"], "expires_at": "2026-04-01T00:00:00Z"}
    key["account_id"] = shop.account_id("merchant")
    made = shop.post("/v5/apikeys", key, by="merchant").json()
    shop.get("/v2/terminals", by=made["key"])
    shop.get("/v2/transactions", by=second, query="limit=5")
    return shop.har()


@pytest.fixture(scope="module")
def har() -> dict[str, Any]:
    return recorded()


@pytest.fixture(scope="module")
def play() -> Iterator[Play]:
    with Stage(Profile(), "demo") as stage:
        yield Play(stage, Profile().api_key_header)


@pytest.fixture(scope="module")
def casting(har, play) -> Casting:
    return cast(parse_har(har, Profile()), play)


def _written(tmp_path: Path, har: Any) -> str:
    file = tmp_path / "traffic.har"
    file.write_text(har if isinstance(har, str) else json.dumps(har))
    return str(file)


def _changed(har: dict[str, Any], number: int, **changes: Any) -> dict[str, Any]:
    """The recording with another answer to one request; `body.NAME` changes a field of it."""
    changed = copy.deepcopy(har)
    response = changed["log"]["entries"][number - 1]["response"]
    body = json.loads(response["content"]["text"])
    for name, value in changes.items():
        if name == "status":
            response["status"] = value
        elif name == "media_type":
            response["content"]["mimeType"] = value
        elif value is None:
            del body[name]
        else:
            body[name] = value
    response["content"]["text"] = json.dumps(body)
    return changed


# --- what it finds -----------------------------------------------------------------------------


def test_a_recording_of_the_sandbox_with_another_seed_has_no_difference(har, tmp_path):
    done = ask("compare", _written(tmp_path, har))

    assert done.exit_code == 0, done.output
    assert done.stdout == (
        "11 requests replayed, 0 answered differently; 1 other was not for the platform\n"
    )


def test_each_key_and_id_is_given_to_the_right_member_of_the_cast(casting):
    assert sorted(casting.values()) == [
        ("keys", "merchant"),
        ("keys", "partner"),
        ("keys", "second_merchant"),
        ("terminals", "second_merchant"),
    ]


PLANTED = {
    "status": (BAD_LIMIT, {"status": 422}, "status", "status"),
    "media type": (LISTED, {"media_type": "text/html"}, "shape", "content-type"),
    "a status of the same class": (MADE, {"status": 200}, "status", "status"),
    "a field less": (PAID, {"status_reason": None}, "shape", "body.status_reason"),
    "a field more": (PAID, {"batch_number": "7"}, "shape", "body.batch_number"),
    "a type": (PAID, {"total_amount": "1000"}, "shape", "body.total_amount"),
    "a list": (PAID, {"parent_account_ids": []}, "shape", "body.parent_account_ids"),
    "a word": (READ, {"card_brand": "MasterCard"}, "words", "body.card_brand"),
    "a number": (READ, {"refunded": 101}, "words", "body.refunded"),
    "a message": (AGAIN, {"detail": "Duplicate."}, "words", "body.detail"),
    "the form of a time": (PAID, {"created_at": 1772366400}, "shape", "body.created_at"),
    "the id of another": (
        READ,
        {"account_id": "00000000-0000-4000-8000-000000000000"},
        "words",
        "body.account_id",
    ),
}


def test_only_a_planted_difference_is_found(har, play, casting):
    for name, (number, changes, kind, place) in PLANTED.items():
        recording = parse_har(_changed(har, number, **changes), Profile())

        found = play.run(recording, casting, AS_IT_IS)

        assert [(one.number, one.kind, one.place) for one in found] == [(number, kind, place)], name


def test_each_difference_is_explained_by_the_reading_of_the_recording_and_no_other(play, casting):
    turned = {
        "status_after_partial_refund": "refunded",
        "duplicate_event_id": "replay",
        "stored_transaction_type": "first",
    }
    changed = _changed(recorded(**turned), BAD_LIMIT, error=None)
    del changed["log"]["entries"][BAD_LIMIT:]
    recording = parse_har(changed, Profile())
    found = play.run(recording, casting, AS_IT_IS)

    whole = explain(found, recording, casting, play, turns(Profile()))

    expected = {(f"readings.{name}={value}",) for name, value in turned.items()}
    assert set(map(tuple, whole.values())) == {*expected, ("errors.shape=detail",)}


# --- the command -------------------------------------------------------------------------------


def test_differences_are_printed_as_json_without_keys(har, tmp_path):
    (key,) = [
        header["value"]
        for header in har["log"]["entries"][PAID - 1]["request"]["headers"]
        if header["name"] == "X-Service-Apikey"
    ]
    changed = _changed(har, PAID, merchant_name=f"at {key}", card_brand="MasterCard")
    del changed["log"]["entries"][PAID:]

    done = ask("compare", _written(tmp_path, changed), "--json")

    assert done.exit_code == 1
    result = json.loads(done.stdout)
    assert (result["requests"], result["skipped"]) == (1, 1)
    brand, name = result["differences"]
    assert (brand["request"], brand["place"]) == (PAID, "body.card_brand")
    assert name["place"] == "body.merchant_name"
    assert (brand["recorded"], brand["replayed"]) == ("'MasterCard'", "'Visa'")
    assert key not in done.output


def test_it_replays_in_a_new_world_of_a_running_server_behind_a_proxy_too(
    har, tmp_path, served: Served, monkeypatch
):
    tls, authority = trusted_context(tmp_path)
    monkeypatch.setenv("SANDBOX_CA", str(authority))
    before = served.control("GET", "/worlds").json()["total"]

    with proxying(served.url, tls) as proxy:
        done = ask("compare", _written(tmp_path, har), "--server", proxy.url)

    assert done.exit_code == 0, done.output
    assert served.control("GET", "/worlds").json()["total"] == before


def test_a_scenario_chooses_the_outcomes_that_requests_do_not_show(tmp_path):
    shop, scenario = Recorder(7, {}), tmp_path / "declined.toml"
    shop.pay(outcome="lost_card")
    del shop.entries[0]["request"]["headers"][-1]
    file = _written(tmp_path, shop.har())
    scenario.write_text('name = "Declined"\n[[rule]]\nthen.outcome = "lost_card"\n')

    assert "'declined', replayed 'captured'" in ask("compare", file).stdout
    assert ask("compare", file, "--scenario", str(scenario)).exit_code == 0
    assert_refused(ask("compare", file, "--scenario", "lost"), 2, "no scenario 'lost'")


def test_a_recording_without_keys_is_replayed_with_a_key_that_fits(har, tmp_path):
    bare = copy.deepcopy(har)
    bare["log"]["entries"] = bare["log"]["entries"][:6]
    for entry in bare["log"]["entries"]:
        entry["request"]["headers"] = entry["request"]["headers"][:1]

    done = ask("compare", _written(tmp_path, bare))

    assert done.exit_code == 0, done.output


def test_files_as_browsers_write_them_are_read(har, tmp_path):
    listed = copy.deepcopy(har)
    entries = listed["log"]["entries"]
    lost = entries[-1] | {"response": {"status": -1}}
    encoded = copy.deepcopy(entries[-1])
    encoded["request"]["url"] = "https://uat.example.com/v2/terminals/a%23b%0A"
    missing = {"detail": "The resource was not found.", "error": "not_found"}
    content = {"mimeType": "application/json", "text": json.dumps(missing)}
    encoded["response"] = {"status": 404, "content": content}
    entries[-1]["response"]["content"] = {"mimeType": "application/json", "size": 4_000}
    for entry in entries:
        more = [{"name": ":authority", "value": "uat"}, {"name": "x-user", "value": "Jos\u00e9"}]
        entry["request"]["headers"] = more + entry["request"]["headers"]
    for url in (
        "data:image/png;base64," + "A" * 2**21,
        "https://ads.example/?" + "&a" * 300,
        "chrome-extension://abc/v2/a.js",
    ):
        entries.append({"request": {"method": "GET", "url": url}})
    entries += [encoded, lost]
    entries.reverse()

    done = ask("compare", _written(tmp_path, listed))

    assert done.stdout == (
        "1 answer has no body in the file, so only the status was compared\n"
        "12 requests replayed, 0 answered differently; 5 others were not for the platform\n"
    )


# --- bad input ---------------------------------------------------------------------------------


def _entry(**changes: Any) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "startedDateTime": "2026-03-01T12:00:00Z",
        "request": {"method": "GET", "url": "https://a.example/v2/terminals", "headers": []},
        "response": {"status": 200, "content": {}},
    }
    for name, value in changes.items():
        whole, _, part = name.partition("__")
        if part:
            entry[whole][part] = value
        else:
            entry[whole] = value
    return {"log": {"entries": [entry]}}


FIRST = "log.entries[0]"
KEY = "svc_live_abc_def"


BAD = (
    ([], "log: is missing"),
    ({"log": {"entries": {}}}, "log.entries: must be a list"),
    ({"log": {"entries": []}}, "log.entries: has no request to the platform"),
    ({"log": {"entries": [3]}}, f"{FIRST}: must be an object"),
    (_entry(request={}), f"{FIRST}.request.method: is missing"),
    (_entry(request__url="/v2/terminals"), f"{FIRST}.request.url: is not a whole URL"),
    (_entry(request__url="https://a.example/v2/x?" + "&a=" * 300), "more than 200 parameters"),
    (_entry(request__url="https://[/v2/x"), f"{FIRST}.request.url: is not a URL"),
    (_entry(request__method="G T"), f"{FIRST}.request.method: is not an HTTP method"),
    (_entry(response__status="200"), f"{FIRST}.response.status: must be a whole number"),
    (_entry(response__status=2000), f"{FIRST}.response.status: is not an HTTP status"),
    (_entry(startedDateTime="noon"), f"{FIRST}.startedDateTime: "),
    (_entry(request__headers=[{"name": "a"}]), f"{FIRST}.request.headers[0].value: is missing"),
    (_entry(request__postData={"text": "\ud800"}), "has a character that cannot be sent"),
    (_entry(request__url="https://a.example/v2/\ud800"), "has a character that cannot be"),
    (_entry(request__postData=[]), f"{FIRST}.request.postData: must be an object"),
    (_entry(request__postData={"text": "x" * (2**20 + 1)}), "postData.text: is larger than"),
    (_entry(response__content={"text": "*", "encoding": "base64"}), "is not text in base64"),
    (
        _entry(request__headers=[{"name": "x-service-apikey", "value": KEY}]),
        f"{FIRST}: contains a production key",
    ),
)


def test_an_unusable_recording_is_refused_with_the_place():
    for document, words in BAD:
        with pytest.raises(HarError, match=re.escape(words)) as refused:
            parse_har(document, Profile())

        assert KEY not in str(refused.value)


def test_a_file_fixture_or_server_that_cannot_be_used_ends_with_2(tmp_path, har):
    for content, words in (("{", "is not JSON"), ("[" * 100_000, "nested")):
        assert_refused(ask("compare", _written(tmp_path, content)), 2, "traffic.har: ", words)
    file = _written(tmp_path, har)
    assert_refused(ask("compare", str(tmp_path / "no.har")), 2, "no.har: cannot be read")
    assert_refused(ask("compare", file, "--fixture", "nothing"), 2, "no fixture 'nothing'")
    nowhere = ("--server", "http://127.0.0.1:1")
    assert_refused(ask("compare", file, *nowhere), 2, "no server answers")
    assert_refused(ask("compare", file, *nowhere, "--token", "wörd"), 2, "cannot be sent")
