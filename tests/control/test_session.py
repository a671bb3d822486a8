"""What a browser finds: signing in, the console and its files, and the addresses people type."""

import hashlib
import json
import re

import pytest

from sandbox.app import build
from sandbox.control.identity import SESSION_S
from sandbox.settings import Settings
from tests.driving import InProcess, Response, fresh
from tests.in_process import Exchange, http_scope
from tools.vendor import DRAWN, VENDOR

TOKEN = "open-sesame-open-sesame"
HOST = (b"host", b"box.example:8443")


@pytest.fixture
def ticks() -> list[float]:
    """The time of a clock that stands until a test moves it."""
    return [1_000.0]


@pytest.fixture
def locked(ticks) -> InProcess:
    return InProcess(build(Settings(host="0.0.0.0", token=TOKEN), ticks=lambda: ticks[0]))


def ask(sandbox: InProcess, method: str, path: str, *headers, **more) -> Response:
    return sandbox.ask(method, f"/_sandbox{path}", headers=[HOST, *headers], **more)


def sign_in(sandbox: InProcess, token: str = TOKEN, *headers) -> Response:
    return ask(sandbox, "POST", "/session", *headers, json_body={"token": token})


@pytest.mark.proves("assumed D25-session")
def test_the_token_is_exchanged_for_a_cookie_that_only_this_server_gets(locked, ticks):
    before = ask(locked, "GET", "/session").json()
    begun = sign_in(locked)
    cookie, *attributes = begun.headers["set-cookie"].split("; ")
    sent = (b"cookie", b"other=1; " + cookie.encode())

    assert (before["needs_token"], before["signed_in"]) == (True, False)
    assert begun.json()["signed_in"] is True
    assert cookie.startswith("uat_sandbox_8443=")
    assert TOKEN not in cookie
    assert set(attributes) >= {"HttpOnly", "SameSite=Strict", "Path=/_sandbox"}
    assert "Secure" not in attributes
    assert ask(locked, "GET", "/worlds").status == 401
    assert ask(locked, "GET", "/worlds", sent).status == 200
    assert ask(locked, "GET", "/session", sent).json()["signed_in"] is True
    foreign = ask(locked, "POST", "/worlds", sent, (b"sec-fetch-site", b"cross-site"))
    assert foreign.status == 403

    ticks[0] += SESSION_S
    assert ask(locked, "GET", "/worlds", sent).status == 401
    behind_tls = sign_in(locked, TOKEN, (b"x-forwarded-proto", b"https"))
    assert behind_tls.headers["set-cookie"].endswith("; Secure")


def cookie_of(answer: Response) -> tuple[bytes, bytes]:
    """The header that sends the cookie back."""
    return b"cookie", answer.headers["set-cookie"].partition(";")[0].encode()


@pytest.mark.proves("assumed D25-session")
def test_wrong_tokens_lock_no_user_out(locked):
    wrong = [sign_in(locked, "a-wrong-token-of-some-length") for _ in range(30)]

    assert {(one.status, one.json()["error"]) for one in wrong} == {(401, "wrong_token")}
    assert sign_in(locked).status == 200


@pytest.mark.proves("assumed D25-session")
def test_a_token_has_ten_sessions_and_the_oldest_makes_room(locked):
    cookies = [cookie_of(sign_in(locked)) for _ in range(12)]

    answers = [ask(locked, "GET", "/worlds", one).status for one in cookies]

    assert answers == [401] * 2 + [200] * 10


@pytest.mark.proves("assumed D25-session")
def test_a_sign_out_ends_the_session_whatever_cookie_another_page_has_set(locked):
    sent = (b"cookie", b"uat_sandbox_8443=planted; " + cookie_of(sign_in(locked))[1])

    assert ask(locked, "GET", "/worlds", sent).status == 200
    ended = ask(locked, "DELETE", "/session", sent)
    assert (ended.status, "Max-Age=0" in ended.headers["set-cookie"]) == (204, True)
    assert ask(locked, "GET", "/worlds", sent).status == 401


@pytest.mark.proves("assumed D25-session")
def test_repeated_sign_ins_of_a_team_end_no_session_of_others(locked):
    operator = cookie_of(sign_in(locked))
    by_operator = (b"authorization", f"Bearer {TOKEN}".encode())
    made = ask(locked, "POST", "/tokens", by_operator, json_body={"team": "checkout"}).json()
    for _ in range(1_001):
        assert sign_in(locked, made["token"]).status == 200

    assert ask(locked, "GET", "/worlds", operator).status == 200


@pytest.mark.proves("assumed D25-origins")
def test_a_page_of_another_origin_signs_no_user_in_or_out(locked):
    foreign = (b"sec-fetch-site", b"same-site")
    cookie = cookie_of(sign_in(locked))

    for method in ("POST", "DELETE"):
        answer = ask(locked, method, "/session", foreign, cookie, json_body={"token": TOKEN})
        assert (answer.status, "set-cookie" in answer.headers) == (403, False)
    assert ask(locked, "GET", "/worlds", cookie).status == 200


def test_a_page_gets_the_platform_address_at_its_own_host(sandbox):
    own_port = fresh(host="0.0.0.0", token=TOKEN, port=8080, control_port=8081)
    asked = Exchange(http_scope("GET", "/_sandbox/session", headers=[HOST], port=8081))

    told = asked.run_now(own_port.sandbox.app).json()

    assert told["platform_url"] == "http://box.example:8080"
    assert sandbox.look("/session")["platform_url"] == "/"


def test_without_a_token_every_client_is_signed_in(sandbox):
    read = sandbox.look("/session")
    begun = sandbox.control("POST", "/session", {"token": "whatever"})

    assert (read["needs_token"], read["signed_in"]) == (False, True)
    assert begun.json() == read
    assert "set-cookie" not in begun.headers


# --- the page and its files ------------------------------------------------------------------


@pytest.mark.proves("assumed D25-headers")
def test_the_page_runs_its_own_files_and_holds_no_script(sandbox):
    page = sandbox.control("GET", "/")
    text = page.body.decode()
    policy = dict(
        one.strip().partition(" ")[::2]
        for one in page.headers["content-security-policy"].split(";")
    )

    assert re.findall(r"<script[^>]*>(.*?)</script>", text, re.DOTALL) == [""]
    assert policy["script-src"] == "'self'"
    assert policy["trusted-types"] == "'none'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert policy["style-src"] == "'self'"
    assert [one for one in ("svc_", "://", " onclick=", " style=") if one in text] == []
    assert sandbox.control("GET", "/docs").body == page.body


def test_the_files_of_the_page_are_few_and_cached_forever_and_old_versions_are_gone(sandbox):
    for old in ("console.js", "nowhere.js"):
        gone = sandbox.control("GET", f"/assets/old/{old}")
        assert (gone.status, "console has no" in gone.json()["message"]) == (404, True)
    text = sandbox.control("GET", "/").body.decode()
    named = re.findall(r'"\./(assets/[^"]+)"', text)
    (script,) = (path for path in named if path.endswith(".js"))
    editor = script.replace("console.js", "editor.mjs")
    answers = {path: sandbox.ask("GET", f"/_sandbox/{path}") for path in (*named, editor)}

    assert [path.rpartition("/")[2] for path in named] == ["console.css", "console.js"]
    assert {path: one.status for path, one in answers.items() if one.status != 200} == {}
    for one in answers.values():
        assert one.headers["cache-control"] == "public, max-age=31536000, immutable"
    types = [one.headers["content-type"].partition(";")[0] for one in answers.values()]
    assert types == ["text/css", "text/javascript", "text/javascript"]
    assert sum(len(answers[path].body) for path in named) < 345_000
    assert len(answers[editor].body) < 350_000
    assert 'import("./editor.mjs")' in answers[script].body.decode()


def test_the_vendored_files_are_those_of_the_lock():
    lock = json.loads((VENDOR / "LOCK.json").read_text("utf-8"))
    found = {path.name: path.read_bytes() for path in VENDOR.glob("*.mjs")}
    licences = (VENDOR / "LICENSES.txt").read_text("utf-8")

    assert {name: hashlib.sha256(content).hexdigest() for name, content in found.items()} == {
        name: one["sha256"] for name, one in lock.items()
    }
    packages = {*(one["package"] for one in lock.values()), *DRAWN}
    assert [one for one in packages if f"{one} " not in licences] == []
    assert licences.count("Permission") + licences.count("Apache License") >= len(packages)


FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|\beval\(|\bFunction\(|"
    r"style=|https?://(?!127\.0\.0\.1:9000/hook)|document\.write"
)


def test_no_file_of_the_console_turns_text_into_markup_or_leaves_this_server():
    files = [path for path in VENDOR.parent.iterdir() if path.is_file()]
    found = [
        f"{path.name}:{number}: {line.strip()}"
        for path in files
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if FORBIDDEN.search(line)
    ]

    assert found == []
    assert [path.name for path in files if len(path.read_text("utf-8").splitlines()) > 400] == []


BROWSER = [
    (b"host", b"127.0.0.1:8080"),
    (b"accept", b"text/html,application/xhtml+xml,*/*;q=0.8"),
]


def test_a_browser_is_sent_to_the_console(sandbox):
    for path, status in (("/", 307), ("/_sandbox", 308)):
        answer = sandbox.ask("GET", path, headers=BROWSER)
        assert (answer.status, answer.headers["location"]) == (status, "/_sandbox/")


def test_without_scripts_the_console_shows_the_way(sandbox):
    page = sandbox.ask("GET", "/_sandbox/", headers=BROWSER)

    assert page.status == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    without = page.body.decode().partition("<noscript>")[2]
    links = [part.partition('"')[0] for part in without.split('href="')[1:]]
    assert "worlds/default/requests" in links
    assert [sandbox.control("GET", f"/{link}").status for link in links] == [200] * len(links)


def test_a_program_gets_the_documented_answer(sandbox):
    for method, accept in (("GET", b"*/*"), ("GET", b"application/json"), ("POST", b"text/html")):
        for path in ("/", "/_sandbox"):
            headers = [(b"host", b"127.0.0.1:8080"), (b"accept", accept)]
            answer = sandbox.ask(method, path, headers=headers)
            assert (answer.status, "json" in answer.headers["content-type"]) == (404, True), path


def test_with_a_control_port_the_page_of_the_platform_names_that_port():
    sandbox = fresh(control_port=8081)

    page = sandbox.ask("GET", "/", headers=BROWSER).body.decode()

    assert "port 8081" in page
    assert 'href="/' not in page
