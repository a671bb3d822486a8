"""What a browser finds at the addresses that people type."""

import pytest

from sandbox.app import build
from sandbox.settings import Settings
from tests.driving import InProcess

BROWSER = [
    (b"host", b"127.0.0.1:8080"),
    (b"accept", b"text/html,application/xhtml+xml,*/*;q=0.8"),
]


@pytest.mark.parametrize(("path", "status"), [("/", 307), ("/_sandbox", 308)])
def test_a_browser_is_sent_to_the_console(sandbox, path, status):
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
    sandbox = InProcess(build(Settings(control_port=8081)))

    page = sandbox.ask("GET", "/", headers=BROWSER).body.decode()

    assert "port 8081" in page
    assert 'href="/' not in page
