"""What the platform answers is what its OpenAPI document says, and the other way round."""

import json
import re
from itertools import cycle, product

import pytest

from sandbox.app import build
from sandbox.domain.events import EVENTS
from sandbox.domain.faults import BLOCK_FAULTS
from sandbox.domain.payments.outcomes import Operation
from sandbox.domain.profile import Errors, Profile
from sandbox.domain.readings import DECLINE_STATUSES
from sandbox.platform.routes import OPERATIONS
from sandbox.settings import Settings
from tests.driving import FROZEN, fresh
from tests.openapi.asking import Request, refused
from tests.openapi.described import (
    Checked,
    Described,
    checked,
    described,
    fresh_checked,
    usual_documents,
)
from tests.profiles import BRANDED
from tests.properties import IS_THOROUGH
from tools import golden_events

NAMES = [row.name for row in OPERATIONS]

THREE_FIELDS = Profile(errors=Errors(shape="error_message_details"))


@pytest.fixture(scope="module")
def platform() -> Described:
    return usual_documents()[0]


@pytest.fixture
def sandbox() -> Checked:
    return fresh_checked()


@pytest.mark.proves("assumed D25-headers")
def test_an_example_succeeds_in_a_fresh_demo_world_and_no_answer_with_a_key_is_stored():
    for row in OPERATIONS:
        if row.run is not None:
            answer = Request(fresh_checked(), row.name).send()
            assert answer.status == row.status, (row.name, answer)
            may_show_a_key = row.name.startswith("apikeys.") or row.name == "accounts.create_v2"
            policy = "no-store" if may_show_a_key else None
            assert answer.headers.get("cache-control") == policy, row.name
            assert may_show_a_key or b'"svc_' not in answer.body, row.name


@pytest.mark.parametrize("name", NAMES)
def test_an_operation_refuses_with_every_status_that_its_document_names(platform, name):
    promised = [int(status) for status in platform.operations[name]["responses"]]
    is_attempt = "429" in platform.operations[name]["responses"]

    for status in promised:
        # That the state file cannot be written takes a full disk.
        if status < 400 or (status == 500 and not is_attempt):
            continue
        assert refused(fresh_checked(), name, status).status == status


@pytest.mark.proves("assumed C9")
def test_a_refused_method_is_answered_with_the_described_ones(sandbox):
    for path, item in sandbox.platform.document["paths"].items():
        described_ones = {name.upper() for name, one in item.items() if "deprecated" not in one}
        answer = sandbox.ask("OPTIONS", re.sub(r"{\w+}", "some-id", path), key="merchant")
        allowed = answer.headers.get("allow", "")
        assert (answer.status, set(filter(None, allowed.split(", ")))) == (405, described_ones)
        assert len(allowed.split(", ")) == max(1, len(described_ones)), path


def test_a_batch_is_described_with_its_members_too(sandbox):
    sale = Request(sandbox, "payments.create").send().json()
    path, query = f"/v1/batches/{sale['batch_id']}", "include_transactions=true"

    answer = sandbox.get(path, by="merchant", query=query)

    (member,) = answer.json()["transactions"]
    assert member["transaction_id"] == sale["transaction_id"]


def test_a_body_that_differs_from_its_description_is_noticed(sandbox):
    pointer = "/components/schemas/Account"
    shown = Request(sandbox, "accounts.read").send().json()

    sandbox.platform.validate(shown, pointer, "as it is")
    for wrong in ({"more": 1}, {"name": None}, {"status": "asleep"}, {"created_at": "yesterday"}):
        with pytest.raises(AssertionError):
            sandbox.platform.validate(shown | wrong, pointer, "otherwise")
    sheet = {"processing_merchant_id": "5289003", "processing_terminal_id": "1021"}
    body = {"account_id": "a", "processor_config_id": "c", "name": "n", "var_sheet": sheet}
    sandbox.platform.validate(body, "/components/schemas/CreateTerminal", "as Payroc has it")


# --- webhooks ---------------------------------------------------------------------------------


def test_the_golden_body_of_an_event_is_what_its_webhook_says(platform):
    for event in EVENTS:
        body = json.loads((golden_events.FOLDER / f"{event}.json").read_text(encoding="utf-8"))
        pointer = f"/webhooks/{event}/post/requestBody/content/application~1json/schema"
        platform.validate(body, pointer, event)


# --- profiles ---------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", [BRANDED, THREE_FIELDS], ids=["names", "errors"])
def test_the_document_speaks_of_the_names_of_the_profile(profile):
    settings = Settings(clock=FROZEN, profile=profile)
    documents = described(build(settings))

    for name in ("payments.create", "apikeys.create", "transactions.search"):
        assert Request(checked(settings, documents), name).send().status in (200, 201)
        for status in (400, 401, 404, 406):
            assert refused(checked(settings, documents), name, status).status == status


def test_the_names_of_the_profile_are_used_throughout():
    documents = [one.document for one in described(fresh(profile=BRANDED).sandbox)]
    assert not [one["info"]["title"] for one in documents if "svc_uat_" in json.dumps(one)]
    document = documents[0]

    search = document["paths"]["/v2/transactions"]["get"]["parameters"]
    headers = document["webhooks"]["account.created"]["post"]["parameters"]
    key = document["components"]["schemas"]["CreateKey"]["properties"]
    assert document["components"]["securitySchemes"]["apiKey"]["name"] == "X-Acme-Token"
    assert {"from", "to"} < {one["name"] for one in search}
    assert [one["name"] for one in headers] == ["acme-id", "acme-timestamp", "acme-signature"]
    assert "own_key" in key
    assert "key" not in key


# --- readings of a profile --------------------------------------------------------------------

BLOCKABLE = ("payments.", "batches.", "terminals.", "locations.")
"""Operations whose examples are about the account that is blocked."""

ATTEMPTS = [row.name for row in OPERATIONS if row.attempts]


@pytest.mark.proves("assumed D35-decline")
@pytest.mark.parametrize(("value", "status"), DECLINE_STATUSES.items())
def test_a_decline_is_described_with_the_status_of_the_reading(value, status):
    profile = Profile(readings={"decline_status": value})
    sandbox = checked(Settings(clock=FROZEN, profile=profile))

    for name in ATTEMPTS:
        answer = Request(sandbox, name).send_with(("x-sandbox-outcome", "do_not_honor"))

        assert (name, answer.status) == (name, status)
    assert {(name, str(status)) for name in ATTEMPTS} <= sandbox.platform.seen


STOPS = ("payments", "new_payments", "changes")


@pytest.mark.thorough
@pytest.mark.proves("assumed D35-block-answer")
@pytest.mark.parametrize(
    ("value", "stops"),
    [*(product(BLOCK_FAULTS, STOPS) if IS_THOROUGH else zip(BLOCK_FAULTS, cycle(STOPS)))],
)
def test_a_blocked_request_is_described_with_the_status_of_the_reading(value, stops):
    profile = Profile(readings={"block_answer": value, "block_stops": stops})
    settings = Settings(clock=FROZEN, profile=profile)
    documents = described(build(settings))
    stopped = [
        row
        for row in OPERATIONS
        if row.run is not None and row.is_stopped_by(stops) and row.name.startswith(BLOCKABLE)
    ]

    for row in stopped:
        fault = BLOCK_FAULTS[value]
        answer = refused(checked(settings, documents), row.name, 423)

        if value == "invalid_terminal" and row.attempts is Operation.SALE:
            assert (row.name, answer.json()["status_reason"]) == (row.name, "invalid_terminal")
        else:
            told = (answer.status, answer.json()["error"])
            assert (row.name, *told) == (row.name, fault.status, fault.code)
    assert stopped
