"""Commands act at the address that the user gave: with TLS and below a path, too."""

import json
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.cli.asking import ask, assert_refused, told
from tests.cli.proxying import Proxy, proxying, trusted_context
from tests.driving import serving


@pytest.fixture
def proxy(served, tmp_path, monkeypatch) -> Iterator[Proxy]:
    """With TLS, and below a path."""
    tls, file = trusted_context(tmp_path)
    monkeypatch.setenv("SANDBOX_CA", str(file))
    with proxying(served.url, prefix="/tools/pay", tls=tls) as found:
        yield found


SHORT = "webhook_before_the_answer"
"""A scenario of two examples: over TLS each request takes a while."""


def at(proxy: Proxy, *arguments: str) -> str:
    return told(*arguments, SANDBOX_URL=proxy.url)


def test_payments_go_through_the_proxy_that_the_user_named(proxy, shell):
    to = ("--world", shell.id)
    held = json.loads(at(proxy, "pay", "10", "--hold", "--json", *to))
    captured = json.loads(at(proxy, "capture", held["transaction_id"], "--json", *to))
    refunded = json.loads(at(proxy, "refund", "last", "--json", *to))

    statuses = [one["status"] for one in (held, captured, refunded)]
    assert statuses == ["authorized", "captured", "refunded"]
    assert urlsplit(proxy.url).path + "/v3/preauth" in proxy.asked
    assert f"curl -s {proxy.url}/v3/payment" in at(proxy, "world", "new")
    assert at(proxy, "open", "--print", *to).startswith(f"{proxy.url}/_sandbox/#/{shell.id}")
    assert "all as expected" in at(proxy, "scenario", "play", SHORT, "--auto")


def test_a_platform_with_a_port_of_its_own_is_never_asked_in_the_clear(tmp_path, monkeypatch):
    tls, file = trusted_context(tmp_path)
    monkeypatch.setenv("SANDBOX_CA", str(file))
    with serving("--control-port", "0") as server:
        control_url = str(server.facts["control_url"]).removesuffix("/_sandbox")
        with proxying(control_url, tls=tls) as proxy:
            done = ask("pay", "10", SANDBOX_URL=proxy.url)
        journal = server.control("GET", "/worlds/default/requests").json()

    port = server.url.rpartition(":")[2]
    assert_refused(done, 1, f"https://localhost:{port}")
    assert journal["requests"] == []
