"""Who reaches the control API: tokens, ports, and answers without explanations. Assumed D25."""

import pytest

from sandbox.settings import Settings, SettingsError
from sandbox.worlds.spec import Limits
from tests.control.refusals import assert_refused
from tests.driving import InProcess, Response, fresh
from tests.in_process import Exchange, http_scope


def with_token(sandbox: InProcess, method: str, path: str, *tokens: str) -> Response:
    headers = [(b"authorization", token.encode("latin-1")) for token in tokens]
    return sandbox.ask(method, f"/_sandbox{path}", headers=headers)


@pytest.fixture
def guarded() -> InProcess:
    """A sandbox that is not bound to loopback, with a token that was given."""
    return fresh(host="0.0.0.0", token="open-sesame-open-sesame")


def test_on_loopback_a_token_is_asked_for_only_if_it_was_given():
    given = fresh(token="open-sesame-open-sesame")

    assert given.control("GET", "/worlds").status == 401
    for host in ("127.0.0.1", "127.8.8.8", "::1", "localhost"):
        sandbox = fresh(host=host)

        assert sandbox.sandbox.token is None, host
        assert sandbox.control("GET", "/worlds").status == 200


@pytest.mark.proves("assumed D25")
def test_off_loopback_a_random_token_is_generated():
    # Nothing is looked up, and a name may begin like an address.
    names = ("127.evil.example", "127.0.0.1.nip.io", "127.1", "2130706433", "localhost.example")
    tokens = set()
    for host in ("0.0.0.0", "::", "10.0.0.1", "sandbox.example", *names):
        sandbox = fresh(host=host)
        made = str(sandbox.sandbox.token)
        assert len(made) >= 32
        assert with_token(sandbox, "GET", "/worlds", f"Bearer {made}").status == 200, host
        for other in tokens:
            assert with_token(sandbox, "GET", "/worlds", f"Bearer {other}").status == 401
        tokens.add(made)
    assert len(tokens) == 9


@pytest.mark.proves("assumed D25")
def test_a_shared_server_on_loopback_asks_for_a_token_and_guards_internal_addresses():
    sandbox = fresh(shared=True)
    assert sandbox.control("GET", "/worlds").status == 401
    sandbox.defaults["authorization"] = f"Bearer {sandbox.sandbox.token}"

    assert sandbox.control("GET", "/worlds").status == 200
    inside = {"url": "http://127.0.0.1:9000/hook"}
    refused = sandbox.manage("POST", "/endpoints", inside).expect(400)
    assert "internal address" in refused["message"]


@pytest.mark.proves("assumed D25-token")
def test_a_given_token_opens_the_surface_whatever_the_case_of_its_scheme(guarded):
    for scheme in ("Bearer", "bearer", "BEARER", "bEaReR", "Bearer  "):
        answer = with_token(guarded, "GET", "/worlds", f"{scheme} open-sesame-open-sesame")
        assert answer.status == 200, scheme


@pytest.mark.proves("assumed D25-token")
def test_a_token_that_can_be_guessed_or_never_sent_is_refused():
    for token, why in (
        ("", "the token is empty, and needs at least 16"),
        ("fifteen-letters", "the token has only 15 characters, and needs at least 16"),
        ("sixteen-letters\n", "printable ASCII"),
        (" sixteen-letters", "without a space at either end"),
        ("sixteen-lëtters-", "printable ASCII"),
    ):
        with pytest.raises(SettingsError, match=why) as refused:
            Settings(token=token)

        assert "--token-file" in str(refused.value)
        assert len(token) < 15 or token.strip() not in str(refused.value)


def test_a_token_does_not_show_where_settings_are_shown(guarded):
    settings = Settings(token="open-sesame-open-sesame")

    assert "sesame" not in repr(settings) + repr(guarded.sandbox)


WRONG = [
    *((), ("",), ("Bearer",), ("Bearer ",), ("open-sesame-open-sesame",), ("bearer",)),
    *(("Bearer open-sesame-open-sesam",), ("Bearer open-sesame-open-sesame2",)),
    *(("Bearer OPEN-SESAME-OPEN-SESAME",), ("Basic open-sesame-open-sesame",)),
    *(("Bearer\topen-sesame-open-sesame",), ("Beareropen-sesame-open-sesame",)),
    *(("Bearer \xff\xfe",), ("Bearer open-sesame-open-sesame", "Bearer other")),
]


@pytest.mark.proves("assumed D25")
def test_without_the_token_everything_is_a_401_that_reveals_nothing(guarded):
    for method, path in (
        ("GET", "/worlds"),
        ("POST", "/worlds"),
        ("DELETE", "/worlds/default"),
        ("GET", "/worlds/nowhere"),
        ("GET", "/nowhere"),
        ("PATCH", "/worlds"),
        ("POST", "/health"),
    ):
        for tokens in WRONG:
            answer = with_token(guarded, method, path, *tokens)

            assert_refused(answer, 401, "unauthorized")
            assert answer.headers["www-authenticate"] == "Bearer"
            assert "open-sesame-open-sesame" not in answer.body.decode()


# --- a port of its own ------------------------------------------------------------------------


def test_with_a_control_port_each_port_serves_its_own_surface_only():
    sandbox = fresh(port=8080, control_port=8081)

    for port, path, key, expected in (
        (8080, "/v5/apikeys", "merchant", 200),
        (8080, "/_sandbox/health", None, 404),
        (8080, "/_sandbox/worlds", None, 404),
        (8080, "/_sandbox/worlds", "merchant", 404),
        (8081, "/_sandbox/health", None, 200),
        (8081, "/_sandbox/worlds", None, 200),
        (8081, "/v5/apikeys", "merchant", 404),
        (8081, "/nowhere", None, 404),
    ):
        headers = [(b"x-service-apikey", sandbox.key(key).encode())] if key else []
        exchange = Exchange(http_scope("GET", path, headers=headers, port=port))
        answer = exchange.run_now(sandbox.sandbox.app)
        assert answer.status == expected, (port, path)
    # It looks like any other of the platform.
    answer = sandbox.control("GET", "/worlds")
    assert (answer.status, list(answer.json())) == (404, ["detail", "error"])


# --- explanations -----------------------------------------------------------------------------


def _answers(sandbox: InProcess) -> list[Response]:
    return [
        sandbox.get("/v5/apikeys", by="merchant"),
        sandbox.ask("GET", "/v5/apikeys"),
        sandbox.ask("GET", "/nowhere"),
        sandbox.ask("PATCH", "/v5/apikeys"),
        sandbox.ask("POST", "/v1/transactions/search"),
        sandbox.ask("POST", "/v5/apikeys", key="merchant", body=b"no JSON"),
    ]


@pytest.mark.proves("assumed D3")
def test_every_answer_names_its_entry_in_a_journal_that_keeps_as_many_as_the_limit_says():
    sandbox = fresh(limits=Limits(journal_entries_max=3))

    named = [answer.headers["x-sandbox-request-id"] for answer in _answers(sandbox)]

    assert named == [f"req_000000000{number}" for number in range(1, 7)]
    # Those without a key have a journal of their own.
    assert [one["id"][-1] for one in sandbox.look("requests")["requests"]] == [*"13456"]


@pytest.mark.proves("assumed D3")
def test_without_explanations_no_answer_has_a_header_of_the_sandbox():
    sandbox = fresh(explain_headers=False)

    answers = [*_answers(sandbox), sandbox.pay(900051)]

    assert answers[-1].json()["status_reason"] == "insufficient_funds"
    added = [name for answer in answers for name in answer.headers if name.startswith("x-")]
    assert added == []
    assert sandbox.look("requests")["total"] == 7
