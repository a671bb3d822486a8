"""Paths, methods and queries of every wrong kind. Source: assumed C1 to C3, C9; spec 7."""

import pytest

from tests.platform.refusals import assert_key_refusal, assert_other_refusal

ELSEWHERE = [
    "/",
    "/favicon.ico",
    "/apikeys",
    "/accounts",
    "/transactions",
    "/v5",
    "/v5/",
    "/v5/other",
    "/v5/accounts",
    "/v5/transactions",
    "/v5/apikeysx",
    "/v4",
    "/v4/payment",
    "/v6/apikeys",
    "/v1/apikeys",
    "/V5/apikeys",
    "/v5/APIKEYS",
    "//v5/apikeys",
    "/v5//apikeys",
    "v5/apikeys",
    "/v5/./apikeys",
    "/v5/x/../apikeys",
    "/x/v5/apikeys",
    "/v5/apikeys\x00",
    "/v5/apikeys ",
    "/v5\\apikeys",
    "/v1/accounts/",
    "/v1/accounts/x/y",
    "/v1/accounts//x",
    "/v1/transactions/search/",
    "/_sandbox",
    "/_Sandbox/health",
    "/health",
    "/\u00e9\u4e2d\U0001f4a3",
    "/" + "a" * 100_000,
    "/" * 10_000,
    "*",
    "",
]
BELOW_KEYS = [
    "/v5/apikeys/",
    "/v5/apikeys//",
    "/v5/apikeys//x",
    "/v5/apikeys/a/b",
    "/v5/apikeys/x/",
    "/v5/apikeys/" + "x/" * 5_000,
]


def _short(path: str) -> str:
    return repr(path[:30])


@pytest.mark.proves("spec 9.1, 7-404", "assumed C1, C2, 0.4-v4")
@pytest.mark.parametrize("path", ELSEWHERE, ids=_short)
def test_an_unknown_path_is_a_404_with_any_key_and_without(sandbox, path):
    for key in (None, "merchant", "revoked"):
        assert_other_refusal(sandbox.ask("GET", path, key=key), 404, "not_found")


@pytest.mark.proves("spec 9.5", "assumed C2")
@pytest.mark.parametrize("path", BELOW_KEYS, ids=_short)
def test_an_unknown_path_below_the_keys_is_a_404_of_three_strings(sandbox, path):
    for key in (None, "merchant", "revoked"):
        assert_key_refusal(sandbox.ask("GET", path, key=key), 404, "not_found")


@pytest.mark.proves("assumed C1")
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"])
def test_an_unknown_path_is_a_404_for_every_method(sandbox, method):
    answer = sandbox.ask(method, "/v5/other", key="merchant", body=b"not JSON")

    assert_other_refusal(answer, 404, "not_found")


WEIRD_IDS = [
    "\x00",
    " ",
    "%2F",
    "%",
    "..",
    ".",
    "null",
    "*",
    "\u00e9",
    "\ufffd",
    "\U0001f4a3",
    "'; DROP TABLE api_keys; --",
    "<script>",
    "x" * 100_000,
    "00000000-0000-4000-8000-000000000000",
]


@pytest.mark.proves("spec 7-404", "assumed C4")
@pytest.mark.parametrize("id", WEIRD_IDS, ids=_short)
def test_a_key_id_that_no_key_has_is_a_404_and_a_401_without_a_key(sandbox, id):
    before = sandbox.state()

    for method in ("GET", "PUT", "DELETE"):
        known = sandbox.ask(method, f"/v5/apikeys/{id}", key="merchant", body=b"{}")
        unknown = sandbox.ask(method, f"/v5/apikeys/{id}", body=b"{}")
        assert_key_refusal(known, 404, "not_found")
        assert_key_refusal(unknown, 401, "authentication_failed")
    assert sandbox.state() == before


@pytest.mark.proves("assumed C4")
@pytest.mark.parametrize("id", WEIRD_IDS, ids=_short)
def test_an_account_id_that_no_account_has_is_a_404_and_a_401_without_a_key(sandbox, id):
    known = sandbox.ask("GET", f"/v1/accounts/{id}", key="merchant")
    unknown = sandbox.ask("GET", f"/v1/accounts/{id}")

    assert_other_refusal(known, 404, "not_found")
    assert_other_refusal(unknown, 401, "authentication_failed")


def test_an_id_in_capitals_is_another_id(sandbox):
    answer = sandbox.ask("GET", f"/v1/accounts/{sandbox.account('merchant').upper()}", key="admin")

    assert_other_refusal(answer, 404, "not_found")


# --- methods ----------------------------------------------------------------------------------


@pytest.mark.proves("assumed C9")
@pytest.mark.parametrize("key", [None, "merchant"])
@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/v5/apikeys", {"GET", "POST"}),
        ("DELETE", "/v5/apikeys", {"GET", "POST"}),
        ("PATCH", "/v5/apikeys", {"GET", "POST"}),
        ("OPTIONS", "/v5/apikeys", {"GET", "POST"}),
        ("TRACE", "/v5/apikeys", {"GET", "POST"}),
        ("CONNECT", "/v5/apikeys", {"GET", "POST"}),
        ("get", "/v5/apikeys", {"GET", "POST"}),
        ("SEARCH", "/v5/apikeys", {"GET", "POST"}),
        ("POST", "/v5/apikeys/x", {"GET", "PUT", "DELETE"}),
        ("PATCH", "/v5/apikeys/x", {"GET", "PUT", "DELETE"}),
    ],
)
def test_a_method_that_a_key_path_does_not_serve_is_a_405_that_lists_those_it_does(
    sandbox, method, path, allowed, key
):
    answer = sandbox.ask(method, path, key=key, body=b"not JSON")

    assert_key_refusal(answer, 405, "method_not_allowed")
    assert set(answer.headers["allow"].split(", ")) == allowed


# --- queries ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "x=1",
        "&&&",
        "=",
        "%",
        "%zz=%zz",
        "x=%ff%fe",
        "x=%00",
        "x[]=1&x[0]=2",
        "limit=-1&offset=x",
        "a" * 100_000,
        "&".join(f"p{n}=1" for n in range(499)),
    ],
    ids=_short,
)
def test_an_unknown_query_parameter_is_ignored(sandbox, query):
    answer = sandbox.ask("GET", "/v5/apikeys", key="merchant", query=query)

    assert answer.status == 200


@pytest.mark.proves("spec 4.2-account")
@pytest.mark.parametrize(
    "value", ["%00", "%ff", "*", "x" * 50_000, "%2e%2e", "svc_uat_demomerchant"]
)
def test_an_account_filter_that_names_no_account_is_a_404(sandbox, value):
    answer = sandbox.ask("GET", "/v5/apikeys", key="merchant", query=f"account_id={value}")

    assert_key_refusal(answer, 404, "not_found")


def test_an_account_filter_given_twice_is_a_400(sandbox):
    id = sandbox.account("merchant")

    answer = sandbox.ask(
        "GET", "/v5/apikeys", key="merchant", query=f"account_id={id}&account_id=x"
    )

    assert_key_refusal(answer, 400, "validation_error")


def test_more_than_500_parameters_are_a_400(sandbox):
    query = "&".join(f"p{n}=1" for n in range(501))

    answer = sandbox.ask("GET", "/v5/apikeys", key="merchant", query=query)

    assert_key_refusal(answer, 400, "validation_error")
