"""Pages of other origins, in a browser: each tries every control route, and gets nothing.

The requests, bodies and ids are ones that succeed when the sandbox's own page sends them.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Response
from pytest_httpserver import HTTPServer

from sandbox.control.routes import CONTROL
from sandbox.platform.routes import OPERATIONS
from tests.conftest import NOW
from tests.driving import Served, serving
from tests.whole.browsing import chromium

pytestmark = pytest.mark.proves("assumed D25-origins, D25-hosts")

EVIL = "evil.example"
REBOUND = "rebound.example"
SOME = 6
DEFAULT = "/worlds/default"
TAKE_AWAY = (".delete", ".clear", ".stop", ".return", "marks.delete", ".reset", ".restore")
"""Routes that take something away from others, in the order in which all of them succeed."""

OPEN = {row.path for row in CONTROL if row.is_open}
NOT_HERE = {row.path for row in CONTROL if row.name == "tls.ca"}
"""Open, but answered with 404 by a server without TLS."""

NEEDS_MORE = {
    *("batches.answer", "payments.answer", "taps.tap", "tls.ca"),
    *("find", "console.asset", "messages.verify", "session.begin"),
}
"""Routes that need a query, a name, a card that waits, or a message that was delivered."""

SCRIPT = """
async ({ base, routes, key, together, patience }) => {
  const tried = [];

  async function asked(route, how, path, options) {
    const found = { route: route.name, how };
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

  function asForm(route, enctype) {
    return new Promise((done) => {
      const frame = document.createElement("iframe");
      frame.name = `${route.name} ${enctype}`;
      document.body.append(frame);
      const form = document.createElement("form");
      Object.assign(form, { method: route.method === "GET" ? "GET" : "POST", enctype });
      Object.assign(form, { action: base + route.path, target: frame.name });
      const field = document.createElement("input");
      // As text/plain this is JSON: {..., "x": "="}
      field.name = `${(route.body || "{}").slice(0, -1) || "{"}${route.body ? "," : ""}"x":"`;
      field.value = '"}';
      form.append(field);
      document.body.append(form);
      frame.addEventListener("load", () => {
        if (frame.contentDocument?.URL === "about:blank") return;
        let text = "";
        try { text = frame.contentDocument.body.innerText; } catch { /* of another origin */ }
        tried.push({ route: route.name, how: `form ${enctype}`, text });
        done();
      });
      form.submit();
      setTimeout(done, patience);
    });
  }

  function embedded(route, tag) {
    return new Promise((done) => {
      const element = document.createElement(tag);
      element.onload = element.onerror = () => done();
      element.src = base + route.path;
      document.body.append(element);
      setTimeout(done, patience);
    });
  }

  async function everyWay(route) {
    const { method, path } = route;
    const has = method !== "GET";
    const simple = has ? "POST" : "GET";
    const body = has ? route.body || "" : undefined;
    const text = { "content-type": "text/plain" };
    const keyed = { ...(key && { "x-service-apikey": key }), "content-type": "application/json" };
    const sly = path.replace("/_sandbox", "/%5fsandbox");
    const all = [
      asked(route, "no-cors text", path, { mode: "no-cors", method: simple, body, headers: text }),
      asked(route, "no-cors encoded", sly, { mode: "no-cors", method: simple, body }),
      asked(route, "no-cors blob", path, {
        mode: "no-cors", method: simple, body: has ? new Blob([body]) : undefined,
      }),
      asked(route, "cors text", path, { method: simple, body, headers: text }),
      asked(route, "cors encoded", sly, { method, body, headers: keyed }),
      asked(route, "cors JSON", path, { method, body, headers: keyed }),
      asked(route, "cors credentials", path, { method, body, credentials: "include" }),
    ];
    if (has) navigator.sendBeacon(base + path, body);
    else all.push(...["script", "img", "iframe"].map((tag) => embedded(route, tag)));
    for (const enctype of ["text/plain", "application/x-www-form-urlencoded"]) {
      all.push(asForm(route, enctype));
    }
    await Promise.all(all);
  }

  for (let next = 0; next < routes.length; next += together) {
    await Promise.all(routes.slice(next, next + together).map(everyWay));
  }
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
        "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests",
    ) as opened:
        yield opened


QUEUED = {"outcome": "lost_card"}


class Target:
    """A server with something of everything in it, and what a page can try there."""

    def __init__(self, server: Served) -> None:
        self.server = server
        self.port = int(server.url.rpartition(":")[2])
        hook = {"url": "http://127.0.0.1:9/hook", "id": "mine", "disabled": True}
        assert server.control("POST", f"{DEFAULT}/endpoints", json=hook).status_code == 201
        inside = {"url": "http://receiver.invalid/", "id": "inside", "disabled": True}
        assert server.control("POST", f"{DEFAULT}/endpoints", json=inside).status_code == 201
        world = server.control("GET", DEFAULT).json()
        body = {"amount": 1000, "terminal_id": world["terminals"]["merchant"]}
        self.sale = server.ask("POST", "/v3/payment", key="merchant", json=body).json()
        self.ids = {
            "endpoints": "mine",
            "receivers": "inside",
            "tokens": str(server.control("POST", "/tokens", json={"team": "a"}).json()["id"]),
            "messages": self.newest("messages"),
            "requests": self.newest("requests"),
            "batches": self.sale["batch_id"],
            "taps": self.sale["transaction_id"],
            "payments": self.sale["transaction_id"],
            "schedules": self.sale["tid"],
            "marks": str(server.control("POST", f"{DEFAULT}/marks", json={}).json()["id"]),
            "next": str(
                server.control("POST", f"{DEFAULT}/scenario/next", json=QUEUED).json()["id"]
            ),
            "machines": "batch",
            "lens": "merchant",
            "scenarios": "approve_all",
        }
        self.examples = {
            operation["operationId"]: operation.get("requestBody", {})
            .get("content", {})
            .get("application/json", {})
            .get("example")
            for item in server.control("GET", "/openapi.json").json()["paths"].values()
            for operation in item.values()
        }

    def newest(self, plural: str) -> str:
        listed = self.server.control("GET", f"{DEFAULT}/{plural}").json()[plural]
        return str(listed[-1]["id"])

    def routes(self) -> list[dict[str, Any]]:
        """Every control route, as it succeeds here."""
        found = []
        for row in CONTROL:
            id = self.ids.get(row.name.partition(".")[0], "none")
            body = self.examples.get(row.name)
            if row.name == "snapshot.restore":
                body = self.server.control("GET", f"{DEFAULT}/snapshot").json()
            found.append(
                {
                    "name": row.name,
                    "method": row.method,
                    "path": re.sub(r"{\w+}", id, row.path.replace("{w}", "default")),
                    "body": None if body is None else json.dumps(body),
                    "is_open": row.is_open,
                }
            )
        return found

    def platform_routes(self) -> list[dict[str, Any]]:
        """Every route of the platform."""
        id = self.sale["transaction_id"]
        return [
            {
                "name": row.name,
                "method": row.method,
                "path": "/".join(id if "{" in part else part for part in row.path.split("/")),
                "body": None if row.method == "GET" else "{}",
            }
            for row in OPERATIONS
        ]

    def state(self) -> dict[str, str]:
        """Everything that a page could have changed, as text."""
        paths = ["", "/endpoints", "/requests", "/messages", "/snapshot", "/switches"]
        paths += ["/clock", "/scenario/next", "/taps", "/coverage"]
        whole = [f"{DEFAULT}{path}" for path in paths] + ["/worlds", "/coverage"]
        return {path: self.server.control("GET", path).text for path in whole}


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with serving("--clock", NOW) as server:
        yield Target(server)


@contextmanager
def opened(
    browser: Browser, url: str, *, from_here: bool = False, bypass_csp: bool = False
) -> Iterator[tuple[Page, list]]:
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
    page: Page,
    base: str,
    routes: list[dict[str, Any]],
    *,
    key: str | None = None,
    together: int = 8,
    patience: int = 20_000,
) -> list[dict[str, Any]]:
    """What became of every attempt of the page, which tries so many routes at once.

    `patience` is how many milliseconds it waits for one.
    """
    asked = {"base": base, "routes": routes, "key": key}
    asked |= {"together": together, "patience": patience}
    tried: list[dict[str, Any]] = page.evaluate(SCRIPT, asked)
    return tried


def seen(answers: list[Response], port: int) -> dict[str, set[int]]:
    """Path to the statuses that the sandbox answered it with."""
    found: dict[str, set[int]] = {}
    for answer in answers:
        address = answer.url.partition("://")[2]
        host, _, path = address.partition("/")
        if host.endswith(f":{port}"):
            plain = "/" + path.partition("?")[0].replace("%5f", "_")
            found.setdefault(plain, set()).add(answer.status)
    return found


def _turn(route: dict[str, Any]) -> tuple[int, bool]:
    if route["name"] == "next.delete":
        # A payment would take the outcome first.
        return -1, False
    taken = [turn for turn, end in enumerate(TAKE_AWAY, 1) if route["name"].endswith(end)]
    return max(taken, default=0), route["method"] == "GET"


def test_the_script_does_all_of_this_where_it_may(browser):
    """Without this the tests below would pass with a script that does nothing."""
    with serving("--clock", NOW) as server:
        own = Target(server)
        # What is read has to be made before, and what takes something away comes last.
        routes = sorted(own.routes(), key=_turn)
        # The world itself has to stay.
        routes = [one for one in routes if one["name"] != "worlds.delete"]
        with opened(browser, f"{server.url}/_sandbox/", bypass_csp=True) as (page, _):
            tried = attack(page, server.url, routes, together=1, patience=5_000)
        worlds = server.control("GET", "/worlds").json()["worlds"]

    done = {one["route"] for one in tried if 200 <= one.get("status", 0) < 300}
    assert {route["name"] for route in routes} - done <= NEEDS_MORE
    assert any("svc_uat_" in one.get("text", "") for one in tried)
    assert len(worlds) > 3


def test_a_page_of_another_origin_changes_nothing_and_reads_nothing(browser, target, elsewhere):
    before, all_routes = target.state(), target.routes()
    for host, routes in (
        (EVIL, all_routes),
        # Whose page it is makes no difference to a route, so these try some of them.
        ("127.0.0.1", all_routes[::SOME]),
        ("localhost", all_routes[1::SOME]),
        ("w1.localhost", all_routes[2::SOME]),
    ):
        with opened(browser, f"http://{host}:{elsewhere}/") as (page, answers):
            tried = attack(page, target.server.url, routes)

        assert target.state() == before, host
        assert_nothing_was_read(tried)
        closed = {route["path"] for route in routes if not route["is_open"]}
        answered = {route["path"] for route in routes} & OPEN - NOT_HERE
        statuses = seen(answers, target.port)
        assert closed <= statuses.keys(), host
        succeeded = {path for path, found in statuses.items() if found & set(range(200, 400))}
        assert succeeded == answered, host
        assert {403} == set().union(*(statuses[path] for path in closed)), host


def test_a_page_without_an_origin_gets_nothing_either(browser, target):
    before = target.state()

    with opened(browser, "data:text/html,<body></body>") as (page, answers):
        tried = attack(page, target.server.url, target.routes()[::SOME])

    assert page.url == "data:text/html,<body></body>"
    assert target.state() == before
    assert_nothing_was_read(tried)
    assert 403 in set().union(*seen(answers, target.port).values())


def test_a_page_of_a_name_that_leads_here_now_gets_nothing_of_either_surface(browser, target):
    before = target.state()
    url = f"http://{REBOUND}:{target.port}"
    key = target.server.key("merchant")
    routes = [*target.routes(), *target.platform_routes()]

    with opened(browser, f"{url}/page-of-before", from_here=True) as (page, answers):
        assert page.evaluate("origin") == url
        tried = attack(page, url, routes, key=key)

    read = [one for one in tried if one.get("text")]
    assert target.state() == before
    # The browser lets it read the answers, since they are of its own origin. They hold nothing.
    assert {one["status"] for one in read if "status" in one} == {421}
    assert {one["route"] for one in read} == {route["name"] for route in routes}
    assert [one for one in read if "--allow-host" not in one["text"]] == []
    assert [one for one in read if "svc_uat_" in one["text"] or "whsec_" in one["text"]] == []
    statuses = seen(answers, target.port)
    assert {route["path"] for route in routes} <= statuses.keys()
    assert set().union(*statuses.values()) == {421}


def test_the_platform_tells_a_page_of_another_origin_nothing(browser, target, elsewhere):
    key = target.server.key("merchant")
    worlds = target.server.control("GET", "/worlds").text
    payments = target.server.ask("GET", "/v2/transactions", key="merchant").json()["total"]

    with opened(browser, f"http://{EVIL}:{elsewhere}/") as (page, _):
        tried = attack(page, target.server.url, target.platform_routes(), key=key)

    after = target.server.ask("GET", "/v2/transactions", key="merchant").json()["total"]
    assert_nothing_was_read(tried)
    assert (target.server.control("GET", "/worlds").text, after) == (worlds, payments)


def assert_nothing_was_read(tried: list[dict[str, Any]]) -> None:
    """Each attempt failed, or was opaque: no status and no text."""
    assert len(tried) > len(CONTROL)
    assert [one for one in tried if one.get("text") or one.get("status")] == []
    assert {one["type"] for one in tried if "type" in one} <= {"opaque"}
