"""What cannot be asked is refused in the documented shape, with the nearest word, and changes
nothing."""

import pytest

from sandbox import library
from sandbox.control.routes import CONTROL
from tests.control.refusals import assert_refused, everything, path_of
from tests.driving import NOW
from tests.openapi.described import fresh_checked
from tests.support.directory import NOBODY

UNKNOWN = "unknown_world: "
NOT_FOUND = "not_found: "
SWITCH = "unknown_switch: "
READING = "unknown_reading: "
DISABLED = "endpoint_disabled: the endpoint is disabled: disabled by hand"
INSIDE = "a built-in receiver"
LOST = {"outcome": "lost_card"}
DROPPED = {"then": {"drop": True}}
TIMES = {"times": ["23:30"], "zone": "UTC"}
HOOK = {"url": "http://127.0.0.1:9/hooks"}
DEMO = library.folder("fixtures") / "demo.json"

QUERIES = [
    ("agenda?kind=authorization_expire", "authorization_expires"),
    ("agenda?until=tomorrow", None),
    ("agenda?limit=501", None),
    ("agenda?after=nothing", None),
    ("batches?status=opn", "open"),
    ("batches?terminal=mercant", "merchant"),
    ("directory?kind=keys", None),
    ("messages?event_type=api_key.create", "api_key.created"),
    ("messages?event_type=", None),
    ("messages?account=mercant", "merchant"),
    ("messages?limit=0", None),
    ("messages?limit=1001", None),
    ("messages?limit=5&limit=6", None),
    ("messages?offset=" + "9" * 5000, None),
    ("messages?before=msg_none", None),
    ("messages?before=a&offset=1", None),
    ("payments?status=captured,setled", "settled"),
    ("payments?card_brand=Vissa", "Visa"),
    ("requests?route=apikeys.lst", "apikeys.list"),
    ("requests?outcome=insuficient_funds", "insufficient_funds"),
    ("requests?status_class=3xx", None),
    ("requests?key_id=other_mercant", "other_merchant"),
    ("requests?before=req_9", None),
    ("requests?before=req_0000000001&offset=0", None),
    ("stream?kinds=request,mesage", "message"),
    ("stream?kinds=", None),
]
"""Queries of the world that are 400, with the nearest known word."""

PATHS = [
    ("/find", None, "validation_error: "),
    ("/find?q=x&world=defalt", "default", UNKNOWN),
    ("/machines/bach", "batch", NOT_FOUND),
    ("/platform/openapi.json?pure=perhaps", None, "validation_error: "),
    ("/scenarios/late_answr", "late_answer", "unknown_scenario: "),
    ("/worlds/default/lens/mercant", "merchant", NOT_FOUND),
    ("/worlds/default/payments/{payment}/moves?key=partnr", "partner", "validation_error: "),
    ("/worlds/default/scenario", None, "no_scenario: "),
    *((path, None, NOT_FOUND) for path in ("//", "/nowhere", "/world", "/worlds/", "/x/y")),
    ("/worlds/default/x", None, NOT_FOUND),
    ("/worlds/default/receivers/mine/received", None, NOT_FOUND),
]
"""Addresses that are refused, with the nearest known word, and the error with what it says."""

READINGS = [
    ({"key_deletes_itselve": "allowed"}, "key_deletes_itself"),
    ({"key_deletes_itself": "refuse"}, "refused"),
    ({"stored_transaction_type": "first", "key_deletes_itself": ""}, None),
]
FIELDS = [
    ({"event_types": ["transaction.sales"]}, "transaction.sale"),
    ({"event_types": ["batch.opened"] * 101}, None),
    ({"filters": {"status": ["capturd"]}}, "captured"),
    ({"filters": {"status": ["acepted"]}}, "accepted"),
    ({"filters": {"transaction_type": ["sales"]}}, "sale"),
    ({"filters": {"transaction_type": [""]}}, None),
    ({"description": "x" * 501}, None),
    ({"account_id": NOBODY}, None),
    ({"account_id": ""}, None),
    ({"secret": "whsec_short"}, None),
]
"""Fields of an endpoint, new or changed, that cannot be, and the nearest known word.

More values of a new one are in tests/store/test_four_doors.py.
"""

INVENTIONS = [
    ({}, None, "merchants"),
    *(({"merchants": bad}, None, "merchants") for bad in (-1, 10_001, 1.5, "3", True, None)),
    *(
        ({"merchants": 1, each: bad}, None, each)
        for each in ("terminals_per_merchant", "locations_per_merchant")
        for bad in (1_001, -1)
    ),
    ({"merchants": 51, "terminals_per_merchant": 1_000}, None, "50000"),
    ({"merchants": 10_000, "locations_per_merchant": 6}, None, "50000"),
    ({"merchant": 1}, "merchants", "merchant"),
]
"""What cannot be invented, the nearest known word, and what the message names."""

BODIES = {
    "POST /worlds/default/endpoints": [
        *((HOOK | one, near, f": {next(iter(one))}") for one, near in FIELDS),
        ({}, None),
        (HOOK | {"id": "mine"}, None, "endpoint_taken: "),
        *(
            ({"url": f"http://receiver.invalid/?{query}"}, None, INSIDE)
            for query in ("answers=", "answers=200,x", "delay_ms=9999999", "anwsers=200")
        ),
    ],
    "PATCH /worlds/default/endpoints/mine": [
        *((one, near, f": {next(iter(one))}") for one, near in FIELDS),
        ({"id": "other"}, None),
    ],
    "POST /worlds/default/endpoints/mine/rotate-secret": [
        ({"grace_s": -1}, None),
        ({"grace_s": 604_801}, None),
        ({"secret": "whsec_short"}, None),
    ],
    "POST /worlds/default/endpoints/disabled/recover": [
        ({"since": NOW}, None, f"{DISABLED} POST .../endpoints/disabled/enable comes first"),
    ],
    "POST /worlds/default/endpoints/mine/recover": [
        ({}, None),
        ({"since": "2026-03-01"}, None),
    ],
    "POST /worlds/default/messages/{message}/resend": [
        ({"endpoint_id": "other"}, None, NOT_FOUND),
        ({"endpoint_id": "disabled"}, None, DISABLED),
    ],
    "POST /worlds/default/messages": [
        ({}, None),
        ({"event_type": "transaction.sales"}, "transaction.sale"),
        ({"event_type": "account.updated", "changes": []}, None),
    ],
    "POST /worlds/default/webhooks/next": [
        ({}, None),
        ({"then": {"drop": True, "times": 2}}, None),
        (DROPPED | {"when": {"account": "merchent"}}, "merchant"),
        (DROPPED | {"times": 0}, None),
    ],
    "POST /worlds/default/receivers": [
        ({"answers": []}, None),
        ({"answers": [99]}, None),
        ({"answers": [600]}, None),
        ({"answers": [200] * 21}, None),
        ({"delay_ms": 30_001}, None),
        ({"event_types": ["transaction.sold"]}, "transaction.sale"),
    ],
    "DELETE /worlds/default/receivers/mine": [(..., None, NOT_FOUND)],
    "PUT /worlds/default/batch-schedules/{terminal}": [
        ({"times": ["24:00"], "zone": "UTC"}, None, "times"),
        ({"times": ["9:00"], "zone": "UTC"}, None, "times"),
        ({"times": [], "zone": "UTC"}, None, "times"),
        (TIMES | {"zone": "America/NewYork"}, "America/New_York"),
        (TIMES | {"zone": "Arctic"}, None, "zone: there is no time zone 'Arctic'"),
        (TIMES | {"zone": "../../etc/passwd"}, None, "zone: there is no time zone"),
        (TIMES | {"zone": "a\u0000b"}, None, "zone: there is no time zone"),
        (TIMES | {"days": ["FUN"]}, None, "days"),
        (TIMES | {"days": []}, None, "days"),
    ],
    "POST /tokens": [
        ({"team": ""}, None, "team"),
        ({"team": "Mobile"}, None, "team"),
        ({"team": "a" * 33}, None, "team"),
        ({}, None, "team"),
        ({"team": "mobile", "expires_in": "soon"}, None, "expires_in"),
        ({"team": "mobile", "expires_in": "P99999999D"}, None, "longer than a calendar"),
        ({"team": "mobile", "expires_at": "2020-01-01T00:00:00Z"}, None, "must be in the future"),
        ({"team": "a", "expires_in": "1d", "expires_at": "2030-01-01T00:00:00Z"}, None, "one of"),
    ],
    "PUT /worlds/default/readings": [(one, near, READING) for one, near in READINGS],
    "POST /worlds": [
        *(({"readings": one}, near, READING) for one, near in READINGS),
        ({"fixture": "dmeo"}, "demo", "unknown_fixture: "),
        ({"qqqqqqq": 7}, None),
        ({"endpoints": [{"url": "http://127.0.0.1:9", "secrt": "x"}]}, "secret"),
        ({"switches": {"strict_header": True}}, "strict_headers", SWITCH),
        ({"switches": ["strict_headers"]}, None),
        ({"seed": "7"}, None),
        ({"seed": 7.5}, None),
        ({"seed": 2**63}, None),
        ({"seed": 10**400}, None),
        ({"id": "No"}, None),
        ({"clock": "2026-03-01"}, None),
        ({"id": "default", "seed": 8}, None, "world_taken: "),
        # A path is no name of a fixture.
        ({"fixture": str(DEMO)}, None, "unknown_fixture: "),
        ({"fixture": "../demo"}, "demo", "unknown_fixture: "),
        *(
            ({"id": "hooked", "endpoints": [HOOK | {"id": "ours"}, HOOK | wrong]}, near, said)
            for wrong, near, said in (
                ({"url": "no url"}, None, ": endpoints.1.url: must"),
                ({"event_types": ["sale"]}, None, ": endpoints.1: event_types: "),
                ({"account_id": "nobody"}, None, ": endpoints.1: account_id: "),
                ({"id": "ours"}, None, "endpoint_taken: endpoints.1: an endpoint 'ours'"),
            )
        ),
        *(({"invent": bad}, None, "invent") for bad in (3, [3], "merchants=3")),
        *(({"invent": bad}, near, said) for bad, near, said in INVENTIONS),
    ],
    "PUT /worlds/default/clock": [
        ({"now": "2026-03-01"}, None),
        ({"now": "1969-12-31T23:59:59.999Z"}, None),
        ({"now": "9000-01-01T00:00:00.001Z"}, None),
        ({"mode": "FROZEN"}, None),
        ({"rate": 0}, None),
        ({"rate": 86_400.1}, None),
        ({"rate": 10**400}, None),
    ],
    "POST /worlds/default/clock/advance": [
        ({}, None),
        ({"by": "1d", "to": "2026-03-02T00:00:00Z"}, None),
        ({"by": "soon"}, None),
        ({"to": "2026-02-28T00:00:00Z"}, None),
        ({"by": "999999999w"}, None),
        ({"to": "nxt"}, None, ": to: must be next, or an RFC 3339 date-time with an offset, like "),
        ({"by": "1d", "to": "next"}, None),
        ({"before": True}, None),
    ],
    "PUT /worlds/default/switches": [
        ({"strict_header": True}, "strict_headers", SWITCH),
        ({"strict_headers": True, "qqq": 1}, None, SWITCH),
        ({"strict_headers": None}, None, SWITCH),
        ({"strict_headers": 0}, None, SWITCH),
        ({"refund.partial_status": "refund"}, None, SWITCH),
        ({"idempotency.duplicate": True}, None, SWITCH),
        ({"latency.scale": -0.1}, None, SWITCH),
        ({"latency.scale": 10.1}, None, SWITCH),
        ({"latency.scale": True}, None, SWITCH),
        ({"webhook.time_scale": 1}, "webhooks.time_scale", SWITCH),
    ],
    "POST /worlds/default/scenario/next": [
        ({"outcome": "insufficient_fund"}, "insufficient_funds"),
        ({"outcome": "http_503"}, None),
        ({"fault": "htp_503"}, "http_503"),
        (LOST | {"operation": "salle"}, "sale"),
        ({"outcome": "refund_declined", "operation": "sale"}, None),
        (LOST | {"approved_amount": 5}, None),
        (LOST | {"amount": 0}, None),
        (LOST | {"delay_ms": -1}, None),
        (LOST | {"delay_ms": 3_600_001}, None),
        ({"outcome": "partial_approval", "amount": 500, "approved_amount": 500}, None),
        ({"operation": "sale"}, None),
        ({}, None),
        ({"fault": "http_503", "operation": "terminal.list"}, "terminals.list", "there is no"),
        ({"fault": "http_503", "path": "/v2/terminal"}, None, "path: no operation has the path"),
        ({"fault": "http_503", "method": "PATCH"}, None, "there is no 'PATCH' there are "),
        ({"fault": "http_503", "operation": "sale", "method": "GET"}, None, "no operation of the"),
        (LOST | {"operation": "terminals.list"}, None, "asks no processor"),
        ({"fault": "half_answer", "operation": "terminals.delete"}, None, "fault: half_answer"),
    ],
    "POST /worlds/default/batches/{batch}/answer": [
        ({}, None),
        ({"answer": "acepted"}, None),
        ({"answer": "rejected", "rejected": [1]}, None, ": rejected: must be how many members, "),
        ({"answer": "rejected", "reason": "hash_mismach"}, "hash_mismatch"),
        ({"answer": "accepted", "reason": "hash_mismatch"}, None),
        ({"answer": "accepted", "rejected": 1}, None),
        ({"answer": "partially_accepted"}, None),
        ({"answer": "partially_accepted", "rejected": 0}, None),
        ({"answer": "partially_accepted", "rejected": 2}, None),
        ({"answer": "partially_accepted", "rejected": True}, None),
        ({"answer": "partially_accepted", "rejected": []}, None),
        ({"answer": "partially_accepted", "rejected": ["somebody"]}, None),
    ],
    "POST /worlds/default/lens": [
        ({"key": "mercant", "operation": "accounts.read"}, "merchant", "key: the world has no"),
        ({"key": "merchant", "operation": "account.read"}, "accounts.read", "operation: there is"),
        ({"key": "merchant", "operation": "accounts.read"}, None, "target: accounts.read needs"),
    ],
    "POST /worlds/default/export": [
        ({"as": "word"}, None),
        ({}, None),
        ({"as": "har", "requests": []}, None),
        ({"as": "har", "requests": ["req_0000000009"]}, "req_0000000002"),
        ({"as": "har", "subject": "nobody"}, None, "nothing_to_export: "),
        ({"as": "har", "since": "2100-01-01T00:00:00Z"}, None, "nothing_to_export: "),
    ],
    "POST /worlds/default/send": [
        ({"key": "partnr"}, "partner"),
        ({"method": "FETCH"}, None, "method"),
        ({"path": "v3/payment"}, None, "path"),
        ({"path": "/_sandbox/worlds"}, None, "control API"),
        ({"path": "/v3/payment?a=1", "query": "b=1"}, None, "query"),
        ({"headers": {"x-service-apikey": "x"}}, None, "`key`"),
        ({"headers": {"Content-Length": "1"}}, None, "connection"),
        ({"headers": {"x": "1\n2"}}, None, "headers"),
        ({"body": {"note": "svc_live_" + "a" * 40}}, None, "production key"),
    ],
    "POST /worlds/default/fork": [
        ({"id": "default"}, None, "world_taken: "),
    ],
    "PATCH /worlds/default": [({}, None), ({"name": 5}, None), ({"name": "x" * 500}, None)],
    "POST /scenarios/check": [
        ({}, None),
        ({"toml": "", "json": {}}, None),
    ],
    "PUT /worlds/default/scenario": [
        ({"toml": "name ="}, None),
        ({"toml": 5}, None),
        ({"toml": "name = 'x'\n[[rule]]\nthn = {}"}, "then"),
    ],
}
"""Bodies that are refused, with the nearest known word, and a part of the error with what it
says."""

STATUSES = {
    **dict.fromkeys(("not_found", "unknown_world", "unknown_scenario", "no_scenario"), 404),
    **dict.fromkeys(("world_taken", "nothing_to_export"), 409),
    **dict.fromkeys(("endpoint_taken", "endpoint_disabled"), 409),
}
"""The statuses of errors that are no 400."""

ASKED = {"method": "POST", "path": "/v3/payment", "key": "partner", "body": {"amount": 1}}
"""What the rows of `send` change."""


@pytest.mark.proves("assumed D24, D25-send, D41")
def test_an_impossible_question_is_refused_with_the_nearest_word(sandbox):
    sandbox.set_switch("batch.settlement", "manual")
    sale = sandbox.paid()
    ids = {"batch": sale["batch_id"], "payment": sale["transaction_id"]}
    ids |= {"terminal": sale["tid"], "message": sandbox.emit()}
    sandbox.close_batch(ids["batch"])
    sandbox.add_endpoint(id="mine")
    sandbox.add_endpoint(id="disabled", disabled=True)
    before = everything(sandbox)

    rows = [(f"GET /worlds/default/{path}", ..., near) for path, near in QUERIES]
    rows += [(f"GET {path}", ..., *more) for path, *more in PATHS]
    rows += [(place, *row) for place, bodies in BODIES.items() for row in bodies]
    for place, body, near, *said in rows:
        method, _, path = place.format(**ids).partition(" ")
        path, _, query = path.partition("?")
        answer = sandbox.control(
            method, path, ASKED | body if path.endswith("/send") else body, query=query
        )
        told = answer.json()
        wanted = (said or ["validation_error: "])[0]
        assert wanted in f"{told['error']}: {told['message']} {told['details']}", (
            place,
            body,
            told,
        )
        assert_refused(answer, STATUSES.get(told["error"], 400), told["error"], near)
        assert b"svc_live_aaa" not in answer.body
        assert b"whsec_short" not in answer.body

    assert everything(sandbox) == before


def test_a_misspelt_parameter_or_field_is_refused_with_the_right_one():
    sandbox = fresh_checked()
    before = everything(sandbox)
    for row in CONTROL:
        for model in (row.query, row.body):
            words = [one.alias or name for name, one in model.model_fields.items()] if model else []
            if words == ["root"] or (model is row.body and not words):
                continue
            right = max(words, key=len, default="unknown")
            wrong = right[:1] + right[2:]
            if model is row.body:
                answer = sandbox.control(row.method, path_of(row), model.EXAMPLE | {wrong: 1})
            else:
                answer = sandbox.control(row.method, path_of(row), query=f"{wrong}=1")
            assert_refused(answer, 400, "validation_error", right if words else None)
            assert f"{wrong}: " in answer.json()["message"], row.name
    assert everything(sandbox) == before


def test_an_unknown_id_is_not_found():
    sandbox = fresh_checked()
    before = everything(sandbox)
    for row in (row for row in CONTROL if "none" in path_of(row)):
        body = row.body.EXAMPLE if row.body else ...
        error = "unknown_scenario" if row.name == "scenarios.read" else "not_found"
        assert_refused(sandbox.control(row.method, path_of(row), body), 404, error)
    assert everything(sandbox) == before


def test_a_method_that_is_not_served_is_a_405_that_lists_those_that_are():
    sandbox = fresh_checked()
    for row in CONTROL:
        answer = sandbox.control("OPTIONS", path_of(row))
        assert_refused(answer, 405, "method_not_allowed")
        served = {one.method for one in CONTROL if one.path == row.path}
        assert set(answer.headers["allow"].split(", ")) == served, row.path
