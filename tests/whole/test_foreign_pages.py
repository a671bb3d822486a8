"""Pages of other origins, in a browser: each asks in every way that there is, and gets nothing.

tests/control/test_foreign_pages.py sends each route what browsers send. This is what they do send.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Response
from pytest_httpserver import HTTPServer

from tests.driving import NOW, Served, serving
from tests.whole.browsing import chromium

EVIL = "evil.example"
REBOUND = "rebound.example"
DEFAULT = "/_sandbox/worlds/default"
HEALTH = ("GET", "/_sandbox/health", None)
CLOSED: list[tuple[str, str, Any]] = [
    ("GET", "/_sandbox/worlds", None),
    ("GET", DEFAULT, None),
    ("GET", f"{DEFAULT}/snapshot", None),
    ("GET", f"{DEFAULT}/stream", None),
    ("POST", "/_sandbox/worlds", {}),
    ("POST", f"{DEFAULT}/reset", None),
    ("POST", f"{DEFAULT}/endpoints", {"url": "http://127.0.0.1:9/hook", "disabled": True}),
    ("PUT", f"{DEFAULT}/switches", {"strict_headers": True}),
    ("DELETE", f"{DEFAULT}/requests", None),
]
PLATFORM: list[tuple[str, str, Any]] = [
    ("GET", "/v2/transactions", None),
    ("GET", "/v5/apikeys", None),
    ("POST", "/v3/payment", {"amount": 1000, "terminal_id": "none"}),
    ("PUT", "/v2/accounts/none", {"name": "mine"}),
]

SCRIPT = """
async ({ base, routes, key, patience }) => {
  const tried = [];

  async function asked(how, path, options) {
    const found = { how, path: decodeURIComponent(path), method: options.method };
    tried.push(found);
    try {
      const signal = AbortSignal.timeout(patience);  // A stream has no end.
      const answer = await fetch(base + path, { ...options, signal });
      Object.assign(found, { type: answer.type, status: answer.status });
      found.text = await answer.text();
    } catch (error) {
      found.failed = String(error);
    }
  }

  function asForm([method, path, body], enctype) {
    return new Promise((done) => {
      const frame = document.createElement("iframe");
      frame.name = `${method} ${path} ${enctype}`;
      const form = document.createElement("form");
      Object.assign(form, { method: method === "GET" ? "GET" : "POST", enctype });
      Object.assign(form, { action: base + path, target: frame.name });
      const field = document.createElement("input");
      // As text/plain this is JSON: {..., "x": "="}
      const text = body ? JSON.stringify(body) : "{}";
      field.name = `${text.slice(0, -1)}${text === "{}" ? "" : ","}"x":"`;
      field.value = '"}';
      form.append(field);
      document.body.append(frame, form);
      frame.addEventListener("load", () => {
        if (frame.contentDocument?.URL === "about:blank") return;
        let text = "";
        try { text = frame.contentDocument.body.innerText; } catch { /* of another origin */ }
        tried.push({ how: `form ${enctype}`, path, text });
        done();
      });
      form.submit();
      setTimeout(done, patience);
    });
  }

  function embedded(path, tag) {
    return new Promise((done) => {
      const element = document.createElement(tag);
      element.onload = element.onerror = () => done();
      element.src = base + path;
      document.body.append(element);
      setTimeout(done, patience);
    });
  }

  async function everyWay(route) {
    const [method, path, content] = route;
    const has = method !== "GET";
    const simple = has ? "POST" : "GET";
    const body = has ? JSON.stringify(content ?? {}) : undefined;
    const text = { "content-type": "text/plain" };
    const keyed = { ...(key && { "x-service-apikey": key }), "content-type": "application/json" };
    const sly = path.replace("/_sandbox", "/%5fsandbox");
    const all = [
      asked("no-cors text", path, { mode: "no-cors", method: simple, body, headers: text }),
      asked("no-cors encoded", sly, { mode: "no-cors", method: simple, body }),
      asked("no-cors blob", path, {
        mode: "no-cors", method: simple, body: has ? new Blob([body]) : undefined,
      }),
      asked("cors text", path, { method: simple, body, headers: text }),
      asked("cors encoded", sly, { method, body, headers: keyed }),
      asked("cors JSON", path, { method, body, headers: keyed }),
      asked("cors credentials", path, { method, body, credentials: "include" }),
    ];
    if (has) navigator.sendBeacon(base + path, body);
    else all.push(...["script", "img", "iframe"].map((tag) => embedded(path, tag)));
    for (const enctype of ["text/plain", "application/x-www-form-urlencoded"]) {
      all.push(asForm(route, enctype));
    }
    await Promise.all(all);
  }

  for (const route of routes) await everyWay(route);
  return tried;
}
"""
"""What a hostile page does: every route, in every way in which a browser lets a page ask."""


@pytest.fixture
def elsewhere(httpserver: HTTPServer) -> int:
    """The port of another server on this machine, with an empty page wherever it is asked."""
    page = "<!doctype html><title>a page</title><body></body>"
    httpserver.expect_request(re.compile("")).respond_with_data(page, content_type="text/html")
    return httpserver.port


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Both names lead to this machine, and the browser's own checks of that are off: what a
    browser does not check is left to the sandbox."""
    with chromium(
        f"--host-resolver-rules=MAP {EVIL} 127.0.0.1, MAP {REBOUND} 127.0.0.1",
        without=("LocalNetworkAccessChecks", "BlockInsecurePrivateNetworkRequests"),
    ) as opened:
        yield opened


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with serving("--clock", NOW) as server:
        yield server


def state(server: Served) -> dict[str, str]:
    """Everything that a page could have changed, as text."""
    paths = ["", "/endpoints", "/requests", "/messages", "/snapshot", "/switches", "/coverage"]
    whole = [f"/worlds/default{path}" for path in paths] + ["/worlds", "/coverage"]
    return {path: server.control("GET", path).text for path in whole}


@contextmanager
def opened(
    browser: Browser, url: str, *, from_here: bool = False, bypass_csp: bool = False
) -> Iterator[tuple[Page, list[Response]]]:
    """A page at this address, and every answer that its browser gets from then on.

    `from_here` has it come from nowhere: as what a name led to before it led to the sandbox.
    """
    page = browser.new_page(bypass_csp=bypass_csp)
    if from_here:
        page.route(url, lambda route: route.fulfill(body="<body></body>", content_type="text/html"))
    page.goto(url)
    answers: list[Response] = []
    page.on("response", lambda answer: answers.append(answer))
    yield page, answers
    page.close()


def attack(
    page: Page, base: str, routes: list[Any], *, key: str | None = None, patience: int = 5_000
) -> list[dict[str, Any]]:
    """What became of every attempt of the page, which waits for one so many milliseconds."""
    asked = {"base": base, "routes": routes, "key": key, "patience": patience}
    tried: list[dict[str, Any]] = page.evaluate(SCRIPT, asked)
    return tried


def seen(answers: list[Response], port: int) -> dict[str, set[int]]:
    """Path to the statuses that the sandbox answered it with."""
    found: dict[str, set[int]] = {}
    for answer in answers:
        host, _, path = answer.url.partition("://")[2].partition("/")
        if host.endswith(f":{port}"):
            plain = "/" + path.partition("?")[0].replace("%5f", "_")
            found.setdefault(plain, set()).add(answer.status)
    return found


def assert_nothing_was_read(tried: list[dict[str, Any]]) -> None:
    """Each attempt failed, or was opaque: no status and no text."""
    assert [one for one in tried if one.get("text") or one.get("status")] == []
    assert {one["type"] for one in tried if "type" in one} <= {"opaque"}


def test_the_script_does_all_of_this_where_it_may(browser):
    """Without this the tests below would pass with a script that does nothing."""
    with serving("--clock", NOW) as own:
        with opened(browser, f"{own.url}/_sandbox/", bypass_csp=True) as (page, _):
            tried = attack(page, own.url, [*CLOSED, HEALTH], patience=2_000)
        worlds = own.control("GET", "/worlds").json()["worlds"]

    done = {(one.get("method"), one["path"]) for one in tried if one.get("status", 0) // 100 == 2}
    assert {(method, path) for method, path, _ in [*CLOSED, HEALTH]} <= done
    assert any("svc_uat_" in one.get("text", "") for one in tried)
    # By scripts, forms and beacons.
    assert len(worlds) > 5


@pytest.mark.proves("assumed D25-origins")
def test_a_page_of_another_origin_changes_nothing_and_reads_nothing(browser, server, elsewhere):
    before = state(server)
    hosts = ("127.0.0.1", "localhost", EVIL, "w1.localhost")
    for url in (*(f"http://{host}:{elsewhere}/" for host in hosts), "data:text/html,<body></body>"):
        with opened(browser, url) as (page, answers):
            tried = attack(page, server.url, [*CLOSED, HEALTH])
            assert page.url == url

        assert state(server) == before, url
        assert_nothing_was_read(tried)
        statuses = seen(answers, server.port)
        assert {path for _, path, _ in CLOSED} <= statuses.keys(), url
        assert 200 in statuses.pop(HEALTH[1]), url
        assert set().union(*statuses.values()) == {403}, url


@pytest.mark.proves("assumed D25-hosts")
def test_a_rebound_host_name_gets_nothing_of_either_surface(browser, server):
    before = state(server)
    url = f"http://{REBOUND}:{server.port}"
    routes = [*CLOSED, HEALTH, *PLATFORM]

    with opened(browser, f"{url}/page-of-before", from_here=True) as (page, answers):
        assert page.evaluate("origin") == url
        tried = attack(page, url, routes, key=server.key("merchant"))

    read = [one for one in tried if one.get("text")]
    assert state(server) == before
    # The browser lets it read the answers, since they are of its own origin. They hold nothing.
    assert {one["status"] for one in read if "status" in one} == {421}
    assert [one for one in read if "--allow-host" not in one["text"]] == []
    assert "svc_uat_" not in json.dumps(read)
    assert "whsec_" not in json.dumps(read)
    statuses = seen(answers, server.port)
    assert {path for _, path, _ in routes} <= statuses.keys()
    assert set().union(*statuses.values()) == {421}


def test_the_platform_reveals_nothing_to_a_page_of_another_origin(browser, server, elsewhere):
    worlds = server.control("GET", "/worlds").text
    sale = ("POST", "/v3/payment", server.sale())

    with opened(browser, f"http://{EVIL}:{elsewhere}/") as (page, _):
        tried = attack(page, server.url, [*PLATFORM, sale], key=server.key("merchant"))

    assert_nothing_was_read(tried)
    assert server.control("GET", "/worlds").text == worlds
    assert server.ask("GET", "/v2/transactions", key="merchant").json()["total"] == 0
