"""What cannot be asked of a world is refused in the documented shape, with the nearest word."""

import pytest

from tests.control.refusals import assert_refused

INVALID = (400, "validation_error")
UNKNOWN = (404, "unknown_world")
NOT_FOUND = (404, "not_found")


@pytest.mark.parametrize(
    ("query", "nearest"),
    [
        ("agenda?kind=authorization_expire", "authorization_expires"),
        ("agenda?until=tomorrow", None),
        ("agenda?limit=501", None),
        ("agenda?after=nothing", None),
        ("agenda?untill=2026-03-02T00:00:00Z", "until"),
        ("batches?status=opn", "open"),
        ("batches?terminal=mercant", "merchant"),
        ("batches?stats=open", "status"),
        ("directory?parent=mercant", "merchant"),
        ("directory?knd=key", "kind"),
        ("directory?kind=keys", None),
        ("messages?event_type=api_key.create", "api_key.created"),
        ("messages?event_type=transaction.sales", "transaction.sale"),
        ("messages?event_type=", None),
        ("messages?evnt_type=x", "event_type"),
        ("messages?since=yesterday", None),
        ("messages?since=", None),
        ("messages?limit=0", None),
        ("messages?limit=-1", None),
        ("messages?limit=1001", None),
        ("messages?limit=", None),
        ("messages?limit=x", None),
        ("messages?limit=1e3", None),
        ("messages?limt=5", "limit"),
        ("messages?limit=5&limit=6", None),
        ("messages?offset=-1", None),
        ("messages?offset=" + "9" * 5000, None),
        ("messages?x=1", None),
        ("overview?limit=5", None),
        ("requests?rout=x", "route"),
        ("requests?route=apikeys.lst", "apikeys.list"),
        ("requests?status=x", None),
        ("requests?status=", None),
        ("requests?limit=0", None),
        ("requests?outcome=insuficient_funds", "insufficient_funds"),
        ("requests?account=mercant", "merchant"),
        ("requests?status_clas=4xx", "status_class"),
        ("requests?status_class=3xx", None),
        ("requests?key_id=other_mercant", "other_merchant"),
        ("requests?origin=nobody", None),
        ("requests?before=req_9", None),
        ("requests?before=req_0000000001&offset=0", None),
        ("stream?kinds=clok", "clock"),
        ("stream?kinds=request,mesage", "message"),
        ("stream?kinds=", None),
        ("stream?kinds=request,", None),
        ("stream?kind=clock", "kinds"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_parameter_that_cannot_be_meant_is_a_400(sandbox, query, nearest):
    path, _, query = query.partition("?")

    answer = sandbox.control("GET", f"/worlds/default/{path}", query=query)

    assert_refused(answer, *INVALID, nearest)


@pytest.mark.parametrize(
    ("path", "status_and_error", "nearest"),
    [
        ("/find", INVALID, None),
        ("/find?q=x&world=defalt", UNKNOWN, "default"),
        ("/find?q=x&wrld=default", INVALID, "world"),
        ("/ledger?section=5", INVALID, None),
        ("/machines/bach", NOT_FOUND, "batch"),
        ("/worlds/defalt/capture", UNKNOWN, "default"),
        ("/worlds/default/batches/none", NOT_FOUND, None),
        ("/worlds/default/lens/mercant", NOT_FOUND, "merchant"),
        ("/worlds/default/messages/msg_nobody", NOT_FOUND, None),
        ("/worlds/default/payments/none", NOT_FOUND, None),
        ("/worlds/default/payments/none/moves", NOT_FOUND, None),
        ("/worlds/default/requests/req_nobody", NOT_FOUND, None),
        *((path, NOT_FOUND, None) for path in ("//", "/nowhere", "/world", "/worlds/", "/x/y")),
        ("/worlds/default/x", NOT_FOUND, None),
    ],
)
def test_what_is_not_there_is_refused_with_the_nearest(sandbox, path, status_and_error, nearest):
    path, _, query = path.partition("?")

    assert_refused(sandbox.control("GET", path, query=query), *status_and_error, nearest)
