"""Paths, methods and queries of every wrong kind. Source: assumed C1 to C3, C9; spec 7."""

import pytest

from tests.driving import Response
from tests.platform.refusals import assert_key_refusal

ELSEWHERE = [
    *("/", "/favicon.ico", "/apikeys", "/accounts", "/transactions", "/health", "*", ""),
    *("/v5", "/v5/", "/v5/other", "/v5/accounts", "/v5/transactions", "/v5/apikeysx"),
    *("/v4", "/v4/payment", "/v6/apikeys", "/v1/apikeys", "/V5/apikeys", "/v5/APIKEYS"),
    *("//v5/apikeys", "/v5//apikeys", "v5/apikeys", "/v5/./apikeys", "/v5/x/../apikeys"),
    *("/x/v5/apikeys", "/v5/apikeys\x00", "/v5/apikeys ", "/v5\\apikeys"),
    *("/v1/accounts/", "/v1/accounts/x/y", "/v1/accounts//x", "/v1/transactions/search/"),
    *(
        "/_sandbox",
        "/_Sandbox/health",
        "/\u00e9\u4e2d\U0001f4a3",
        "/" + "a" * 100_000,
        "/" * 10_000,
    ),
]
BELOW_KEYS = [f"/v5/apikeys/{one}" for one in ("", "/", "/x", "a/b", "x/", "x/" * 5_000)]
METHODS = ("POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE")


@pytest.mark.proves("spec 7-404, 9.1, 9.5", "assumed C1, C2, 0.4-v4")
def test_an_unknown_path_is_a_404_with_any_key_and_without_for_every_method(sandbox):
    for key in (None, "merchant", "revoked"):
        for path in ELSEWHERE:
            sandbox.get(path, by=key).detail(404, "not_found")
        for path in BELOW_KEYS:
            assert_key_refusal(sandbox.get(path, by=key), 404, "not_found")
    for method in METHODS:
        answer = sandbox.ask(method, "/v5/other", key="merchant", body=b"not JSON")
        answer.detail(404, "not_found")


@pytest.mark.proves("spec 7-404", "assumed C4")
def test_an_unknown_id_is_a_404_and_without_a_key_a_401(sandbox):
    ids = [
        *("\x00", " ", "%2F", "%", "..", ".", "null", "*", "\u00e9", "\ufffd", "\U0001f4a3"),
        *("'; DROP TABLE api_keys; --", "<script>", "x" * 100_000),
        *("00000000-0000-4000-8000-000000000000", sandbox.account_id("merchant").upper()),
    ]

    with sandbox.unchanged():
        for id in ids:
            for method, path, assert_refusal in (
                *(
                    (one, f"/v5/apikeys/{id}", assert_key_refusal)
                    for one in ("GET", "PUT", "DELETE")
                ),
                ("GET", f"/v1/accounts/{id}", Response.detail),
            ):
                known = sandbox.ask(method, path, key="merchant", body=b"{}")
                assert_refusal(known, 404, "not_found")
                assert_refusal(sandbox.ask(method, path, body=b"{}"), 401, "authentication_failed")


# --- queries ----------------------------------------------------------------------------------

IGNORED = [
    *("x=1", "&&&", "=", "%", "%zz=%zz", "x=%ff%fe", "x=%00", "x[]=1&x[0]=2"),
    *("limit=-1&offset=x", "a" * 100_000, "&".join(f"p{n}=1" for n in range(499))),
]
NOWHERE = ["%00", "%ff", "*", "x" * 50_000, "%2e%2e", "svc_uat_demomerchant"]


@pytest.mark.proves("spec 4.2-account")
def test_an_unknown_parameter_is_ignored_and_an_account_is_named_once(sandbox):
    def listed(query):
        return sandbox.get("/v5/apikeys", by="merchant", query=query)

    assert {listed(query).status for query in IGNORED} == {200}
    for value in NOWHERE:
        assert_key_refusal(listed(f"account_id={value}"), 404, "not_found")
    twice = f"account_id={sandbox.account_id('merchant')}&account_id=x"
    for query in (twice, "&".join(f"p{n}=1" for n in range(501))):
        assert_key_refusal(listed(query), 400, "validation_error")
