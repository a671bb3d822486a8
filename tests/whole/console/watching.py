"""Pages of the console that ask nobody but this machine, and of which no browser complains."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from httpx2 import Response
from playwright.sync_api import Browser, Page, expect

from sandbox.control import console_files
from tests.cli.asking import add_world
from tests.driving import Served
from tests.scenarios.running import carrying
from tests.whole.console.consoles import heading_of

_WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (one) =>
  window.violations.push(`${one.violatedDirective} ${one.blockedURI} ${one.sample}`));
"""
_WIDTHS = (1440, 1024, 390)
_ASK_AXE = """(options) => axe.run(options).then((found) =>
  found.violations.map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 200)}`))
"""
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
_RULES_OF_WIDTHS = ["button-name", "link-name", "target-size"]
_RULES_OF_ORDER = ["empty-table-header", "heading-order", "skip-link"]


@contextmanager
def watched(browser: Browser) -> Iterator[Page]:
    """A page; once the block ends, nothing was asked elsewhere and nothing was complained of."""
    opened = browser.new_page(viewport={"width": 1440, "height": 900})
    opened.add_init_script(_WATCH)
    asked: list[str] = []
    complaints: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on(
        "console",
        lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None,
    )
    yield opened
    violations = opened.evaluate("window.violations ?? []")
    opened.close()
    assert violations == []
    hosts = {urlsplit(url).hostname for url in asked if not url.startswith(("data:", "blob:"))}
    assert hosts <= {"127.0.0.1", None}
    # That an answer is a refusal, browsers complain about; refusals are wanted here.
    wrong = [one for one in complaints if "the server responded with a status" not in one]
    assert wrong == [], wrong


class Desk:
    """One browser page at the console of a world, with counted clicks."""

    def __init__(self, page: Page, server: Served, id: str = "default") -> None:
        self.page = page
        self.server = server
        self.id = id
        self.control = server.facts["control_url"]
        self.clicks = 0

    def world(self, **more: Any) -> dict[str, Any]:
        """A new world, in the place of the one before."""
        return add_world(self.server, self.id, **more)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Ask about the world as a program does; of the server if the path has a slash first."""
        whole = path if path.startswith("/") else f"/worlds/{self.id}/{path}".rstrip("/")
        answer = self.server.control(method, whole, json=body)
        assert answer.status_code < 400, answer.text
        return answer.json() if answer.content else None

    def pay(
        self,
        amount: int,
        card: str = "tok_visa_credit",
        *,
        hold: bool = False,
        at: str = "merchant",
        key: str = "merchant",
    ) -> Any:
        """A payment at a terminal of the cast, the merchant's. Gives the platform's answer."""
        body = {"amount": amount, "terminal_id": self.ask("GET", "")["terminals"][at]}
        body |= carrying(card)
        path = "/v3/preauth" if hold else "/v3/payment"
        return self.send("POST", path, key=key, json=body).json()

    def send(self, method: str, path: str, *, key: str = "merchant", **more: Any) -> Response:
        """What the platform answers to a key of the world's cast."""
        keys = self.ask("GET", "")["keys"]
        return self.server.ask(method, path, key=keys[key]["key"], **more)

    def open_with(self, module: str, place: str) -> None:
        """Open a place, with one of the page's own modules under `window.module`."""
        kept = f"{console_files.join_scripts()}window.module = module_{module}_js;"
        self.page.route(
            "**/console.js", lambda one: one.fulfill(body=kept, content_type="text/javascript")
        )
        self.open(place)

    def open(self, place: str, *, at: str = "") -> None:
        """Open a place of the console, and wait until it is ready."""
        self.page.goto(f"{self.control}/#/{at or self.id}/{place}")
        self.ready(place)

    def ready(self, place: str) -> None:
        """Wait until the room of the place is there, and follows the world."""
        heading = self.page.get_by_role("heading", level=1)
        expect(heading).to_contain_text(heading_of(re.split("[/?]", place)[0]))
        expect(self.page.locator(".live")).to_have_text("live")

    def click(self, role: Any, name: str, *, exact: bool = False, within: str = "body") -> None:
        """Click on something, which counts."""
        self.page.locator(within).get_by_role(role, name=name, exact=exact).first.click()
        self.clicks += 1

    def keys(self, text: str) -> None:
        """Press single keys, as somebody does who is in no field."""
        self.page.get_by_role("heading", level=1).focus()
        for key in text:
            self.page.keyboard.press(key)


def faults(page: Page) -> list[str]:
    """What is wrong with the page as it stands: its width, and what axe finds, in both themes."""
    wrong = []
    for width in _WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wrong.append(f"wider than {width}")
        wrong += [f"{width}: {one}" for one in violations(page, _RULES_OF_WIDTHS)]
    page.set_viewport_size({"width": 1440, "height": 900})
    # Themes differ in their colours, and in nothing else.
    for theme, rules in (
        ("dark", ["color-contrast"]),
        ("light", _RULES_OF_ORDER),
        ("light", _RULES),
    ):
        page.emulate_media(color_scheme=theme)
        wrong += [f"{theme}: {one}" for one in violations(page, rules)]
    return wrong


def violations(page: Page, rules: list[str]) -> list[str]:
    """What axe finds by these rules or tags, as each of them and the first place of it."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    found: list[str] = page.evaluate(_ASK_AXE, {"runOnly": rules, "resultTypes": ["violations"]})
    return found
