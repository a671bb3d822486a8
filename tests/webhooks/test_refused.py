"""What cannot be asked of webhooks is refused in words that help, and changes nothing."""

from typing import Any

from tests.control.refusals import assert_refused
from tests.driving import NOW

URL = "http://127.0.0.1:9/hooks"

INVALID = (400, "validation_error")
NOT_FOUND = (404, "not_found")
DISABLED = (409, "endpoint_disabled")
DROPPED: dict[str, Any] = {"then": {"drop": True}}

FIELDS = [
    ({"event_types": ["transaction.sales"]}, "transaction.sale"),
    ({"event_types": ["batch.opened"] * 101}, None),
    ({"filters": {"status": ["capturd"]}}, "captured"),
    ({"filters": {"status": ["acepted"]}}, "accepted"),
    ({"filters": {"transaction_type": ["sales"]}}, "sale"),
    ({"filters": {"transaction_type": [""]}}, None),
    ({"filters": {"statuses": ["captured"]}}, "status"),
    ({"adress": URL}, None),
    ({"disabled": "yes"}, None),
    ({"disabled_reason": "x"}, "disabled"),
    ({"description": "x" * 501}, None),
    ({"account_id": "00000000-0000-4000-8000-000000000000"}, None),
    ({"account_id": ""}, None),
    ({"secret": "whsec_short"}, None),
]
"""Fields of an endpoint, new or changed, that cannot be, and the nearest known word.

More values of a new one are in tests/store/test_four_doors.py.
"""

PROGRAMS = (
    *({"answers": []}, {"answers": [99]}, {"answers": [600]}, {"answers": ["200"]}),
    *({"answers": [200] * 21}, {"delay_ms": -1}, {"delay_ms": 30_001}),
)

MORE = [
    ("POST", "/endpoints", {}, INVALID, None),
    ("POST", "/endpoints", {"url": URL, "id": "mine"}, (409, "endpoint_taken"), None),
    ("PATCH", "/endpoints/mine", {"id": "other"}, INVALID, None),
    # Its secret, and what it has missed.
    *[
        ("POST", "/endpoints/mine/rotate-secret", body, INVALID, None)
        for body in ({"grace_s": -1}, {"grace_s": 604_801}, {"secret": "whsec_short"})
    ],
    ("POST", "/endpoints/disabled/recover", {"since": NOW}, DISABLED, None),
    *[
        ("POST", "/endpoints/mine/recover", body, INVALID, None)
        for body in ({}, {"since": None}, {"since": "2026-03-01"})
    ],
    # A message once more.
    ("POST", "/messages/{id}/resend", {"endpoint_id": "other"}, NOT_FOUND, None),
    ("POST", "/messages/{id}/resend", {"endpoint_id": "disabled"}, DISABLED, None),
    ("POST", "/messages/{id}/resend", {"endpoint_id": 5}, INVALID, None),
    # A sample of an event.
    ("POST", "/messages", {}, INVALID, None),
    ("POST", "/messages", {"event_type": None}, INVALID, None),
    ("POST", "/messages", {"event_type": "transaction.sales"}, INVALID, "transaction.sale"),
    ("POST", "/messages", {"event_type": "account.updated", "changes": []}, INVALID, None),
    # A fault of the next deliveries.
    *[
        ("POST", "/webhooks/next", body, INVALID, nearest)
        for body, nearest in (
            *(({}, None), ({"then": {"dropp": True}}, "drop")),
            ({"then": {"drop": True, "times": 2}}, None),
            (DROPPED | {"when": {"account": "merchent"}}, "merchant"),
            (DROPPED | {"times": 0}, None),
        )
    ],
    # A receiver inside.
    *[("POST", "/receivers", program, INVALID, None) for program in PROGRAMS],
    ("POST", "/receivers", {"event_types": ["transaction.sold"]}, INVALID, "transaction.sale"),
    *[
        ("POST", "/endpoints", {"url": f"http://receiver.invalid/?{query}"}, INVALID, None)
        for query in ("answers=", "answers=200,x", "delay_ms=9999999", "anwsers=200")
    ],
    # Endpoints at other addresses are none.
    ("GET", "/receivers/mine/received", ..., NOT_FOUND, None),
    ("DELETE", "/receivers/mine", ..., NOT_FOUND, None),
]
"""Method, path, body, status and error, nearest word."""


def test_a_field_of_an_endpoint_that_cannot_be_is_named(sandbox):
    sandbox.add_endpoint(id="mine")

    with sandbox.unchanged():
        for fields, nearest in FIELDS:
            for method, path, more in (
                ("POST", "endpoints", {"url": URL}),
                ("PATCH", "endpoints/mine", {}),
            ):
                answer = sandbox.manage(method, f"/{path}", more | fields)

                assert_refused(answer, *INVALID, nearest)
                assert answer.json()["message"].startswith(next(iter(fields)))
                assert "whsec_short" not in answer.body.decode()


def test_what_cannot_be_asked_of_webhooks_is_refused_and_changes_nothing(sandbox):
    sandbox.add_endpoint(id="mine")
    sandbox.add_endpoint(id="disabled", disabled=True)
    id = sandbox.emit()

    with sandbox.unchanged():
        for method, path, body, refusal, nearest in MORE:
            answer = sandbox.manage(method, path.format(id=id), body)

            assert_refused(answer, *refusal, nearest)
            if refusal is DISABLED:
                assert "disabled by hand" in answer.json()["message"]
                assert path.endswith("resend") or "enable" in answer.json()["details"]
            if "receiver.invalid" in str(body):
                assert "a receiver inside" in answer.json()["message"]
    assert sandbox.look("webhooks/next")["total"] == 0
