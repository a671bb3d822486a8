"""The console in a browser: how soon it is there, and what a busy world costs its page.

It needs Chromium. Without it these figures are left out, and the others of the console are not.
"""

import shutil
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from benchmarks import serving
from benchmarks.report import Plan, Result, Target
from benchmarks.sale import sale
from benchmarks.serving import BenchmarkError, Connection, Server, ask

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_VISITS: Final = 5
_REQUESTS: Final = 30
"""So many requests the world has had when the console is opened."""

_EVENTS_PER_S: Final = 500
_EVENTS_OF_A_SALE: Final = 2
"""A request and a message."""

_WATCHED_S: Final = 4.0
_SEEN: Final = """
new MutationObserver((_, watcher) => {
  if (document.querySelector(".feed ol li")) {
    window.firstRowsMs = performance.now();
    watcher.disconnect();
  }
}).observe(document, { childList: true, subtree: true });
"""
_PAINTED: Final = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"


def run(plan: Plan) -> list[Result]:
    """First paint and first rows of cold visits, and the main thread's share at 500 events/s."""
    del plan
    where = shutil.which("chromium")
    if where is None:
        return []
    from playwright.sync_api import sync_playwright

    core, _ = serving.two_cores()
    with serving.sandbox(core=core) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=where, args=["--no-sandbox"])
        for _ in range(_REQUESTS):
            ask(server.port, sale(server))
        visits = [_visit(browser, server) for _ in range(_VISITS + 1)][1:]
        share, seen_per_s = _busy(browser, server)
        browser.close()
    painted, filled = (statistics.median(times) for times in zip(*visits, strict=True))
    return [
        _figure("console: first contentful paint", "ms", painted, below=150),
        _figure("console: first rows on screen", "ms", filled, below=300),
        Result(
            name=f"console: main thread at {_EVENTS_PER_S} events/s",
            unit="%",
            figure=share * 100,
            target=Target(bound=20, of="figure"),
            notes=(f"{seen_per_s:.0f} events/s arrived",),
        ),
    ]


def _figure(name: str, unit: str, figure: float, *, below: float) -> Result:
    return Result(name=name, unit=unit, figure=figure, target=Target(bound=below, of="figure"))


def _visit(browser: "Browser", server: Server) -> tuple[float, float]:
    """The milliseconds to the first paint and to the first rows, with nothing in the cache."""
    context = browser.new_context()
    page = _open(context.new_page(), server)
    painted, filled = page.evaluate(_PAINTED), page.evaluate("window.firstRowsMs")
    context.close()
    if painted is None or filled is None:
        raise BenchmarkError("the browser says nothing about its first paint")
    return painted, filled


def _open(page: "Page", server: Server) -> "Page":
    page.add_init_script(_SEEN)
    page.goto(f"http://{serving.HOST}:{server.port}/_sandbox/#/default/overview")
    page.locator(".feed ol li").first.wait_for()
    return page


def _busy(browser: "Browser", server: Server) -> tuple[float, float]:
    """The share of its time in which the main thread works, and the events that came per second."""
    page = _open(browser.new_page(), server)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def worked_s() -> float:
        metrics: list[dict[str, Any]] = session.send("Performance.getMetrics")["metrics"]
        return float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))

    with _sales(server) as sent:
        page.wait_for_timeout(1_000)
        before_s, before, began_s = worked_s(), len(sent), time.perf_counter()
        page.wait_for_timeout(_WATCHED_S * 1_000)
        took_s = time.perf_counter() - began_s
        share = (worked_s() - before_s) / took_s
        per_s = (len(sent) - before) * _EVENTS_OF_A_SALE / took_s
    page.close()
    return share, per_s


@contextmanager
def _sales(server: Server) -> Iterator[list[float]]:
    """Sales at an even pace until the block ends; the list grows with each."""
    over, done = threading.Event(), list[float]()

    def pay() -> None:
        pause_s = _EVENTS_OF_A_SALE / _EVENTS_PER_S
        with Connection(server.port) as connection:
            next_s, paid = time.perf_counter(), sale(server)
            while not over.is_set():
                connection.ask(paid)
                done.append(time.perf_counter())
                next_s += pause_s
                time.sleep(max(0.0, next_s - time.perf_counter()))

    paying = threading.Thread(target=pay)
    paying.start()
    try:
        yield done
    finally:
        over.set()
        paying.join()
