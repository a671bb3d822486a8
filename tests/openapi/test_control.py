"""What the control API answers is what its OpenAPI document says."""

import pytest

from sandbox.control.routes import CONTROL
from sandbox.scenarios.queue import QUEUE_MAX, WEBHOOK_FAULTS_MAX
from sandbox.settings import Settings
from tests.control.refusals import assert_refused, path_of
from tests.driving import FROZEN, NOW, InProcess
from tests.openapi.asking import Request
from tests.openapi.described import Checked, checked, fresh_checked, usual_documents
from tests.support.open_requests import desk_opens, sale

GUARDED = Settings(token="a-token-of-the-test", clock=FROZEN)
FOR_PROGRAMS = [row for row in CONTROL if row.is_for_programs]

WORLD = "/worlds/default"


@pytest.fixture
def sandbox() -> Checked:
    return fresh_checked()


def test_no_row_name_is_used_on_both_surfaces():
    platform, control = usual_documents()

    assert set(platform.operations) & set(control.operations) == set()


def test_unrecorded_answers_match_the_document(sandbox):
    for row in CONTROL:
        if row.name in ("taps.list", "tokens.create", "tokens.list", "verify"):
            body = row.body.EXAMPLE if row.body else ...
            answer = sandbox.control(row.method, path_of(row), body)
            assert answer.status == row.status, row.name


def test_an_unknown_world_and_a_body_that_is_too_large_are_refused_as_the_document_says(sandbox):
    for row in FOR_PROGRAMS:
        if "{w}" in row.path:
            unknown = sandbox.control(row.method, path_of(row, "defualt"))
            assert_refused(unknown, 404, "unknown_world", "default")
        if row.body is not None:
            path = f"/_sandbox{path_of(row)}"
            answer = sandbox.ask(row.method, path, body=b" " * 1_048_577)
            assert answer.status == 413, row.name


def test_conflicts_are_refused_as_the_document_says(sandbox):
    taken = sandbox.add_endpoint(id="taken", disabled=True)
    sandbox.add_endpoint(id="free")
    message = sandbox.emit("account.created")
    sold = Request(sandbox, "payments.create").send().json()
    unchecked = InProcess(sandbox.sandbox)
    for times, path, body in (
        (10, "/endpoints/taken/rotate-secret", {}),
        (WEBHOOK_FAULTS_MAX, "/webhooks/next", {"then": {"drop": True}}),
        (QUEUE_MAX, "/scenario/next", {"outcome": "lost_card"}),
    ):
        for _ in range(times):
            unchecked.manage("POST", path, body)
    sandbox.manage("PUT", "/scenario", {"toml": 'name = "without examples"'})
    long = {"method": "POST", "path": "/v3/payment", "key": "merchant", "body": "x" * 20_000}
    sent = sandbox.manage("POST", "/send", long).json()["request_id"]

    asked = {
        "endpoints.create": ("/endpoints", {"id": "taken", "url": taken["url"]}),
        "next.add": ("/scenario/next", {"outcome": "lost_card"}),
        "worlds.fork": ("/fork", {"id": "default"}),
        "requests.export": ("/export", {"as": "har", "subject": "nobody"}),
        "webhooks.next.add": ("/webhooks/next", {"then": {"drop": True}}),
        "endpoints.rotate": ("/endpoints/taken/rotate-secret", {}),
        "endpoints.recover": ("/endpoints/taken/recover", {"since": NOW}),
        "messages.resend": (f"/messages/{message}/resend", {"endpoint_id": "taken"}),
        "requests.replay": (f"/requests/{sent}/replay", {}),
        "scenario.play": ("/scenario/play", {"example": 1}),
        "taps.tap": (f"/taps/{sold['transaction_id']}", {"cancel": "user"}),
        "payments.answer": (f"/payments/{sold['transaction_id']}/answer", {}),
        "batches.answer": (f"/batches/{sold['batch_id']}/answer", {"answer": "accepted"}),
    }
    answers = {name: sandbox.manage("POST", *one).status for name, one in asked.items()}
    verify = f"/messages/{message}/verify?endpoint_id=free"
    answers["messages.verify"] = sandbox.manage("GET", verify).status
    answers["worlds.create"] = sandbox.control("POST", "/worlds", {"id": "default"}).status
    while sandbox.manage("POST", "/receivers", {}).status == 201:
        pass
    answers["receivers.create"] = sandbox.manage("POST", "/receivers", {}).status
    while unchecked.control("POST", "/tokens", {"team": "mobile"}).status == 201:
        pass
    answers["tokens.create"] = sandbox.control("POST", "/tokens", {"team": "mobile"}).status
    answers["worlds.delete"] = sandbox.manage("DELETE", "").status

    assert answers == dict.fromkeys([row.name for row in CONTROL if 409 in row.refuses], 409)


def test_a_tap_and_a_wait_are_answered_as_the_document_says(sandbox, requests):
    desk_opens(sandbox)
    _, tapped = requests.tapped(sale(sandbox), card="tok_visa_credit")
    came, missed = (
        requests.run(sandbox.control_on_loop("GET", f"{WORLD}/wait", query=query))
        for query in ("event_type=transaction.sale", "event_type=account.deleted&timeout_s=0")
    )

    for method, path, answer, status in (
        ("POST", "taps/any", tapped, 200),
        ("GET", "wait", came, 200),
        ("GET", "wait", missed, 408),
    ):
        sandbox.control_surface.check(method, f"/_sandbox{WORLD}/{path}", answer)
        assert answer.status == status


# --- the token --------------------------------------------------------------------------------


def test_with_a_token_all_that_is_not_open_is_refused_as_the_document_says():
    sandbox = checked(GUARDED)
    surface = sandbox.control_surface

    for row in FOR_PROGRAMS:
        answer = sandbox.control(row.method, path_of(row))
        assert (answer.status == 401) == (not row.is_open), row.name
    assert surface.document["security"] == [{"token": []}]


def test_the_documents_and_the_page_need_no_token_and_hold_no_key():
    sandbox = checked(GUARDED)
    keys = list(sandbox.sandbox.worlds.default.cast.plaintexts.values())

    for path in ("/", "/openapi.json", "/platform/openapi.json", "/docs"):
        answer = sandbox.control("GET", path)
        assert answer.status == 200
        secrets = (*keys, str(GUARDED.token))
        assert [one for one in secrets if one.encode() in answer.body] == [], path
