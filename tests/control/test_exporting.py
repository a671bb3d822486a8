"""What was seen in a world is handed over: files without a key, and scenarios, proved before."""

import json
import os
import shlex
import subprocess
import tomllib

import pytest

from sandbox.app import build
from sandbox.scenario_examples.own_sandbox import run_examples
from sandbox.scenarios.parser import parse_scenario
from sandbox.settings import Settings
from tests.control.exports import export, exported
from tests.control.refusals import assert_refused
from tests.driving import InProcess, Served
from tests.state.remote import Remote


@pytest.fixture
def told(sandbox):
    """A sandbox with a sale that was read, another sale, and a request without a key."""
    id = sandbox.paid_id()
    sandbox.read(id)
    sandbox.pay(amount=777)
    sandbox.ask("GET", "/v5/apikeys")
    return sandbox, id


def test_no_file_holds_a_key(told):
    sandbox, _ = told
    keys = [one["key"] for one in sandbox.manage("GET", "").json()["keys"].values()]
    for kind in ("curl", "har", "markdown", "pytest"):
        shown = exported(sandbox, kind)

        assert shown["requests"] == 4
        assert [key for key in keys if key in shown["content"]] == []


def test_curl_takes_keys_from_variables_and_sends_what_was_sent(told):
    sandbox, id = told
    sandbox.act(id, "refund", amount=1, outcome="what's that")

    script = exported(sandbox, "curl", subject=id)["content"]
    lines = script.replace("\\\n", "").splitlines()
    first, *_, last = [shlex.split(line) for line in lines if line.startswith("curl")]
    unset = subprocess.run(["sh"], input=script, text=True, capture_output=True, check=False)

    assert "x-service-apikey: $KEY_PARTNER" in first
    assert json.loads(first[first.index("--data-raw") + 1])["amount"] == 1000
    assert "x-sandbox-outcome: what's that" in last
    assert (unset.returncode != 0, "KEY_PARTNER: is not set" in unset.stderr) == (True, True)


def test_the_curl_commands_of_a_server_have_its_address_and_the_chosen_outcome(served: Served):
    shop = Remote(served, served.control("POST", "/worlds", json={}).json()["id"])
    shop.pay(by="merchant", outcome="lost_card")

    script = shop.manage("POST", "/export", {"as": "curl"}).expect(200)["content"]
    more = {"KEY_MERCHANT": shop.key("merchant"), "no_proxy": "*"}
    done = subprocess.run(
        ["sh"], input=script, text=True, capture_output=True, check=True, env=os.environ | more
    )

    assert json.loads(done.stdout)["status_reason"] == "invalid_card"


def test_files_keep_the_content_type_of_a_request(sandbox):
    key = (b"x-service-apikey", sandbox.key("partner").encode())
    text = (b"content-type", b"text/plain")
    sandbox.ask("POST", "/v3/payment", body=b"a=1", headers=[key, text])

    curl, har = (exported(sandbox, kind)["content"] for kind in ("curl", "har"))

    assert "-H 'content-type: text/plain'" in curl
    assert '"mimeType": "text/plain"' in har


def test_addresses_in_a_har_are_those_of_a_proxy_with_tls():
    headers = {"host": "sandbox.test:8443", "x-forwarded-proto": "https"}
    sandbox = InProcess(build(Settings(allow_hosts=("sandbox.test",))), defaults=headers)
    sandbox.pay()

    file = sandbox.manage("POST", "/export", {"as": "har"}).expect(200)

    [entry] = json.loads(file["content"])["log"]["entries"]
    assert entry["request"]["url"] == "https://sandbox.test:8443/v3/payment"


def test_har_and_markdown_tell_request_answer_and_reason(told):
    sandbox, id = told
    last = sandbox.look("requests")["requests"][-1]

    log = json.loads(exported(sandbox, "har")["content"])["log"]
    markdown = exported(sandbox, "markdown", requests=[last["id"]])["content"]

    assert [one["response"]["status"] for one in log["entries"]] == [200, 200, 200, 401]
    headers = {one["name"]: one["value"] for one in log["entries"][0]["request"]["headers"]}
    assert headers["content-type"] == "application/json"
    assert json.loads(log["entries"][0]["response"]["content"]["text"])["transaction_id"] == id
    assert markdown.startswith("## `GET /v5/apikeys`: 401\n")
    assert "no API key was sent" in markdown
    assert "no key" in markdown


# --- large journals ---------------------------------------------------------------------------


def test_an_export_of_large_bodies_has_the_newest_requests_within_a_limit(sandbox):
    for number in range(300):
        sandbox.pay(description=f"{number} " + "x" * 16_000)

    shown = exported(sandbox, "curl")

    assert 200 <= shown["requests"] < 300
    assert len(shown["content"]) < 5_000_000
    assert '"description": "299 ' in shown["content"]


@pytest.mark.proves("assumed D25-export")
def test_a_scenario_makes_the_same_outcomes_happen(sandbox):
    sale = sandbox.paid()
    sandbox.act(sale, "refund", amount=300)
    tipped = sandbox.paid()
    sandbox.act(tipped, "adjust", type="percentage", percentage=18)
    sandbox.act(tipped, "adjust", type="amount", amount=0)
    sandbox.act(tipped, "reverse")
    for outcome in ("lost_card", "lost_crad", "partial_approval"):
        sandbox.pay(outcome=outcome)
    sandbox.manage("POST", "/scenario/next", {"outcome": "stolen_card"})
    sandbox.pay()
    sandbox.pay(900051, type="auth", outcome="http_504_after")
    held = sandbox.pay(operation="auth").json()
    sandbox.advance("1h")
    sandbox.act(held, "capture", amount=900)
    sandbox.ask("GET", f"/v1/transactions/{sale['transaction_id']}")

    file = exported(sandbox, "scenario")

    assert (file["name"], file["media_type"]) == ("what-was-seen.toml", "application/toml")
    assert file["requests"] == 12
    assert file["content"].startswith("# Left out, as scenarios have no word for it: GET ")
    document = tomllib.loads(file["content"])
    *chosen, lost = [one["then"] for one in document["rule"]]
    outcomes = [one["outcome"] for one in chosen]
    assert outcomes == ["lost_card", "partial_approval", "stolen_card"]
    assert lost == {"fault": "http_504_after"}
    sent = [one["send"]["operation"] for one in document["example"]]
    tips = ["sale", "tip_adjust", "tip_adjust", "reverse"]
    assert sent == ["sale", "refund", *tips, *["sale"] * 3, *["auth"] * 2, "advance", "capture"]
    # Proved again: and a file whose rules are gone is not true any more.
    steps = list(run_examples(parse_scenario(document), build))
    assert [one.mistakes for one in steps if one.mistakes] == []
    del document["rule"]
    assert any(one.mistakes for one in run_examples(parse_scenario(document), build))


def test_a_sale_that_a_maintenance_refused_is_refused_in_the_scenario(sandbox):
    sandbox.manage("PUT", "/maintenance", {"lasts": "10m"})
    assert sandbox.pay().status == 503
    sandbox.advance("10m")
    sandbox.paid()

    document = tomllib.loads(exported(sandbox, "scenario")["content"])

    assert [one["then"] for one in document["rule"]] == [{"fault": "http_503"}]
    assert [one["expect"].get("http") for one in document["example"]] == [503, None, 200]


@pytest.mark.proves("assumed D25-export")
def test_a_scenario_that_fails_is_refused_with_the_difference(sandbox):
    sandbox.choose(status_after_partial_refund="refunded")
    sale = sandbox.paid()
    sandbox.act(sale, "refund", amount=300)

    answer = export(sandbox, "scenario")

    assert_refused(answer, 409, "not_exportable")
    assert "2 refund: status: expected 'refunded', got 'captured'" in answer.json()["message"]


def test_requests_without_a_scenario_word_are_refused(sandbox):
    assert_refused(export(sandbox, "scenario"), 409, "nothing_to_export")
    sandbox.ask("GET", "/v5/apikeys")
    assert_refused(export(sandbox, "scenario"), 409, "nothing_to_export")
