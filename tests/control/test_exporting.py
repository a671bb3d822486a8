"""Requests of the journal are handed over as files that hold no key."""

import asyncio
import json
import shlex
import subprocess

import pytest

from tests.support.payments import paid_id, pay, read
from tests.webhooks.calling import control

EXPORT = "/worlds/default/export"


def export(sandbox, kind, **more):
    # In a loop, since tests are proved beside the application.
    answer = asyncio.run(control(sandbox, "POST", EXPORT, {"as": kind} | more))
    assert answer.status == 200, answer.body
    return answer.json()


@pytest.fixture
def told(sandbox):
    """A sandbox with a sale that was read, another sale, and a request without a key."""
    id = paid_id(sandbox)
    read(sandbox, id)
    pay(sandbox, amount=777)
    sandbox.ask("GET", "/v5/apikeys")
    return sandbox, id


def test_no_file_holds_a_key(told):
    sandbox, _ = told
    keys = [one["key"] for one in sandbox.control("GET", "/worlds/default").json()["keys"].values()]
    for kind in ("curl", "har", "markdown", "pytest"):
        shown = export(sandbox, kind)

        assert shown["requests"] == 4
        assert [key for key in keys if key in shown["content"]] == []


def test_curl_takes_keys_from_variables_and_sends_what_was_sent(told):
    sandbox, id = told

    script = export(sandbox, "curl", subject=id)["content"]
    lines = script.replace("\\\n", "").splitlines()
    first, _ = [shlex.split(line) for line in lines if line.startswith("curl")]
    unset = subprocess.run(["sh"], input=script, text=True, capture_output=True, check=False)

    assert "x-service-apikey: $KEY_PARTNER" in first
    assert json.loads(first[first.index("--data-raw") + 1])["amount"] == 1000
    assert (unset.returncode != 0, "KEY_PARTNER: is not set" in unset.stderr) == (True, True)


def test_har_and_markdown_tell_request_answer_and_reason(told):
    sandbox, id = told
    last = sandbox.control("GET", "/worlds/default/requests").json()["requests"][-1]

    log = json.loads(export(sandbox, "har")["content"])["log"]
    markdown = export(sandbox, "markdown", requests=[last["id"]])["content"]

    assert [one["response"]["status"] for one in log["entries"]] == [200, 200, 200, 401]
    assert json.loads(log["entries"][0]["response"]["content"]["text"])["transaction_id"] == id
    assert markdown.startswith("## `GET /v5/apikeys`: 401\n")
    assert "no API key was sent" in markdown
    assert "no key" in markdown


# --- large journals ---------------------------------------------------------------------------


def test_an_export_of_large_bodies_has_the_newest_requests_within_a_limit(sandbox):
    for number in range(300):
        pay(sandbox, description=f"{number} " + "x" * 16_000)

    shown = export(sandbox, "curl")

    assert 200 <= shown["requests"] < 300
    assert len(shown["content"]) < 5_000_000
    assert '"description": "299 ' in shown["content"]
