"""Pages of other origins change nothing and read nothing. Assumed D25-origins, D25-hosts."""

import logging

import pytest

from sandbox.control.routes import CONTROL
from sandbox.settings import Settings, SettingsError
from tests.control.refusals import assert_refused, everything, path_of
from tests.driving import InProcess, Response, fresh
from tests.openapi.described import fresh_checked

HERE = "127.0.0.1:8080"
EVIL = "https://evil.example"


def from_page(sandbox: InProcess, method: str, path: str, **headers: str) -> Response:
    """A request as a browser sends it for a page, with a body that needs no preflight."""
    sent = {"host": HERE, "content-type": "text/plain"} | headers
    return sandbox.ask(
        method,
        path,
        body=b'{"url": "http://127.0.0.1:9/internal"}',
        headers=[(name.replace("_", "-").encode(), sent[name].encode()) for name in sent],
    )


@pytest.fixture(scope="module")
def shared() -> InProcess:
    """One for all requests that change nothing, whose answers are those of the documents."""
    return fresh_checked()


FOREIGN = [
    {"sec_fetch_site": "cross-site", "origin": EVIL},
    {"sec_fetch_site": "same-site", "origin": "http://127.0.0.1:9999"},
    {"sec_fetch_site": "cross-site"},
    {"origin": EVIL},
    {"origin": EVIL, "authorization": "Bearer open-sesame-open-sesame"},
]


@pytest.mark.proves("assumed D25-origins")
def test_every_route_that_is_not_open_refuses_a_page_of_another_origin(shared):
    before = everything(shared)
    rows = [("GET", "/nowhere"), ("POST", "/health"), ("OPTIONS", "/worlds"), ("GET", "//health")]
    rows += [(row.method, path_of(row)) for row in CONTROL if not row.is_open]
    for method, path in rows:
        for headers in FOREIGN:
            answer = from_page(shared, method, f"/_sandbox{path}", **headers)

            assert_refused(answer, 403, "foreign_origin")
            assert "page of another origin" in answer.json()["message"], path
    assert everything(shared) == before


@pytest.mark.proves("assumed D25-origins")
def test_a_route_that_is_open_answers_any_page(shared):
    for row in (row for row in CONTROL if row.is_open and row.method == "GET"):
        answer = from_page(shared, "GET", row.path, sec_fetch_site="cross-site", origin=EVIL)
        # Without TLS there is no authority with a certificate, and no file is named here.
        status = 404 if row.name in ("tls.ca", "console.asset") else 200
        assert answer.status == status, row.name


@pytest.mark.proves("assumed D25-origins")
def test_any_other_origin_is_foreign(shared):
    for headers in (
        {"sec_fetch_site": "Same-Origin"},
        {"sec_fetch_site": ""},
        {"sec_fetch_site": "same-origin, none"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "http://127.0.0.1:80800"},
        {"origin": "http://127.0.0.1"},
        {"origin": "http://127.0.0.2:8080"},
        {"origin": "http://localhost:8080"},
        {"origin": "http://127.0.0.1:8080.evil.example"},
        {"origin": "127.0.0.1:8080"},
        {"origin": "http://127.0.0.1:80", "host": "127.0.0.1:443"},
        {"origin": "ftp://127.0.0.1:8080"},
        {"origin": "http://evil.example", "host": "localhost:8080"},
    ):
        assert from_page(shared, "GET", "/_sandbox/worlds", **headers).status == 403, headers
    two = [(b"host", HERE.encode()), (b"origin", f"http://{HERE}".encode()), (b"origin", b"x")]
    assert shared.ask("GET", "/_sandbox/worlds", headers=two).status == 403


@pytest.mark.proves("assumed D25-origins")
def test_its_own_pages_and_clients_that_are_no_browsers_are_served(sandbox):
    path = "/_sandbox/worlds/default/endpoints"
    for headers in (
        {},
        {"sec_fetch_site": "same-origin", "origin": f"http://{HERE}"},
        {"sec_fetch_site": "none"},
        {"origin": f"http://{HERE}"},
        {"origin": "HTTP://LocalHost:8080", "host": "LOCALHOST:8080"},
        {"origin": "http://127.0.0.1", "host": "127.0.0.1:80"},
        {"origin": "http://127.0.0.1:80", "host": "127.0.0.1"},
        {"origin": "http://[::1]:8080", "host": "[::1]:8080"},
        # A proxy with TLS is in front, and the browser sends no Sec-Fetch-Site.
        {"origin": f"https://{HERE}"},
        {"origin": "https://127.0.0.1", "host": "127.0.0.1"},
        {"sec_fetch_mode": "cors", "content_type": "application/x-www-form-urlencoded"},
    ):
        assert from_page(sandbox, "POST", path, **headers).status == 201, headers


@pytest.mark.proves("assumed D25-origins")
def test_no_spelling_of_a_path_is_a_way_round_on_a_socket(served):
    for path, status in (
        ("/_sandbox/worlds", 200),
        ("/_sandbox/%77orlds", 200),
        # A proxy that blocks the control API by its prefix blocks all of it.
        ("/%5fsandbox/worlds", 404),
        ("/%5Fsandbox/%77orlds", 404),
        ("/_sandbox%2fworlds", 404),
    ):
        for method in ("GET", "POST"):
            refused = served.ask(method, path, headers={"sec-fetch-site": "cross-site"})
            assert refused.status_code == 403, path
        assert served.ask("GET", path).status_code == status, path


# --- hosts ------------------------------------------------------------------------------------

FOREIGN_HOSTS = [
    *("evil.example", "evil.example:8080", "127.0.0.1.evil.example:8080", "127.evil.example"),
    *("localhost.evil.example", "evillocalhost", "10.0.0.1:8080", "0.0.0.0:8080", "128.0.0.1"),
    *("[::2]:8080", "[2001:db8::1]", "localhost@evil.example", "evil.example#localhost"),
    *("localhost:8080:8080", "localhost, evil.example", "[::1", "", "\xe9\xff"),
    "e" * 60_000,
]
OWN_HOSTS = [
    *("127.0.0.1", "127.0.0.1:8080", "127.8.8.8:1", "[::1]:8080", "[0:0:0:0:0:0:0:1]"),
    *("localhost", "LocalHost:8080", "localhost.:8080", "sandbox.localhost:8080"),
    "a.b.localhost",
]


def for_host(sandbox: InProcess, method: str, path: str, host: str, **more) -> Response:
    headers = [(b"accept", b"application/json"), (b"host", host.encode("latin-1"))]
    if "key" in more:
        headers.append((b"x-service-apikey", sandbox.key(more.pop("key")).encode()))
    return sandbox.ask(method, path, headers=headers, **more)


@pytest.mark.proves("assumed D25-hosts")
def test_without_a_token_another_host_reaches_neither_surface(shared):
    before = everything(shared)
    for host in FOREIGN_HOSTS:
        for method, path in (("POST", "/_sandbox/worlds"), ("GET", "/_sandbox/health")):
            answer = for_host(shared, method, path, host)
            assert_refused(answer, 421, "misdirected_request")
            assert "--allow-host" in answer.json()["message"], (host, path)
            assert len(answer.body) < 600
        keys = for_host(shared, "GET", "/v5/apikeys", host, key="merchant")
        assert (keys.status, list(keys.json())) == (421, ["error", "message", "details"]), host
        assert "--allow-host" not in keys.json()["message"]
        assert len(keys.body) < 600
        payments = for_host(shared, "GET", "/v2/transactions", host, key="merchant")
        assert (payments.status, list(payments.json())) == (421, ["detail", "error"]), host
        assert "--allow-host" in payments.json()["detail"]
        assert "x-sandbox-request-id" not in payments.headers
    assert everything(shared) == before


@pytest.mark.proves("assumed D25-hosts")
def test_loopback_under_any_of_its_names_reaches_both_surfaces(shared):
    # The second time it is remembered, with others in between.
    many = [f"w{number}.localhost" for number in range(70)]
    for host in (*OWN_HOSTS, *many, *OWN_HOSTS):
        assert for_host(shared, "GET", "/_sandbox/worlds", host).status == 200, host
        assert for_host(shared, "GET", "/v5/apikeys", host, key="merchant").status == 200, host
    assert for_host(shared, "GET", "/_sandbox/health", "w1.localhost.evil.example").status == 421


@pytest.mark.proves("assumed D25-hosts")
def test_a_host_that_is_allowed_is_answered():
    allowed = ("sandbox.example", "10.0.0.7", "FD00:0::1")
    sandbox = fresh(allow_hosts=allowed)

    for host in ("Sandbox.Example:8443", "sandbox.example.", "10.0.0.7", "[fd00::1]"):
        assert for_host(sandbox, "GET", "/_sandbox/worlds", host).status == 200, host
    assert for_host(sandbox, "GET", "/_sandbox/worlds", "x.sandbox.example").status == 421
    # So is the one that the server was told to listen on.
    named = fresh(host="me.internal", bound_address="127.0.0.1")
    assert named.sandbox.token is None
    assert for_host(named, "GET", "/_sandbox/worlds", "me.internal:8080").status == 200


@pytest.mark.proves("assumed D25-hosts")
def test_with_a_token_any_host_is_answered():
    sandbox = fresh(token="open-sesame-open-sesame")

    assert for_host(sandbox, "GET", "/_sandbox/health", "sandbox.example").status == 200
    assert for_host(sandbox, "GET", "/v5/apikeys", "sandbox.example", key="merchant").status == 200


def test_an_invalid_host_name_cannot_be_allowed():
    for name in ("http://a.example", "a.example:80", "", "a b", "a.example/x", "*"):
        with pytest.raises(SettingsError, match="--allow-host"):
            Settings(allow_hosts=(name,))


# --- what the operator is told ------------------------------------------------------------------


def test_the_log_says_each_kind_once_a_minute_in_one_line(sandbox, caplog):
    with caplog.at_level(logging.WARNING):
        for _ in range(50):
            for_host(sandbox, "GET", "/_sandbox/worlds", "evil.example\x1b[31m")
            from_page(sandbox, "GET", "/_sandbox/worlds", origin=f"{EVIL}\x1b[31m")

    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert "421" in said[0]
    assert "--allow-host" in said[0]
    assert "403" in said[1]
    assert EVIL in said[1]
    assert all(line.isprintable() for line in said)
