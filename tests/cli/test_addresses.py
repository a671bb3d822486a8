"""Commands act at the address that the user gave: below a path, and with TLS."""

import json

from tests.cli.asking import ask, assert_refused, told
from tests.cli.proxying import PREFIX, proxying, trusted_context
from tests.driving import serving


def test_payments_go_through_the_proxy_that_the_user_named(shell):
    to = ("--world", shell.world)
    with proxying(shell.server.url) as proxy:

        def at(*arguments: str) -> str:
            return told(*arguments, SANDBOX_URL=f"{proxy.url}/_sandbox/#/default/overview")

        held = json.loads(at("pay", "10", "--hold", "--json", *to))
        captured = json.loads(at("capture", held["transaction_id"], "--json", *to))
        refunded = json.loads(at("refund", "last", "--json", *to))

        statuses = [one["status"] for one in (held, captured, refunded)]
        assert statuses == ["authorized", "captured", "refunded"]
        assert f"{PREFIX}/v3/preauth" in [one.path for one in proxy.requests]
        assert f"curl -s {proxy.url}/v3/payment" in at("world", "new")
        assert at("open", "--print", *to).startswith(f"{proxy.url}/_sandbox/#/{shell.world}")
        played = at("scenario", "play", "insufficient_funds_then_success", "--auto")
        assert "all as expected" in played


def test_a_platform_with_a_port_of_its_own_is_never_asked_in_the_clear(tmp_path, monkeypatch):
    tls, file = trusted_context(tmp_path)
    monkeypatch.setenv("SANDBOX_CA", str(file))
    with serving("--control-port", "0") as server:
        control_url = str(server.facts["control_url"]).removesuffix("/_sandbox")
        with proxying(control_url, tls) as proxy:
            done = ask("pay", "10", SANDBOX_URL=proxy.url)
        journal = server.control("GET", "/worlds/default/requests").json()

    port = server.url.rpartition(":")[2]
    assert_refused(done, 1, f"https://localhost:{port}")
    assert journal["requests"] == []
