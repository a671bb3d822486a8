"""Where webhooks may go: anywhere from loopback, otherwise to nothing internal."""

import pytest

from sandbox.app import build
from sandbox.settings import Settings, SettingsError
from sandbox.webhooks.address_guard import Guard
from tests.control.refusals import assert_refused
from tests.driving import InProcess
from tests.webhooks.calling import ANYWHERE, send
from tests.webhooks.receiving import receiving

INTERNAL = [
    *("127.0.0.1", "127.255.255.254", "::1", "0.0.0.0", "::"),
    *("10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1"),
    *("169.254.169.254", "fe80::1", "fe80::1%lo", "fd00::1", "fc00::1", "fec0::1"),
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "::127.0.0.1"),
    *("64:ff9b::127.0.0.1", "64:ff9b::a00:1", "2002:7f00:1::", "2002:c0a8:101::1"),
    *("224.0.0.1", "239.255.255.250", "ff02::1", "ff0e::1"),
    *("64:ff9b:1::808:808", "64:ff9b:1:ffff::1", "::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8"),
    *("2001:470::5efe:10.0.0.1", "2001:470::200:5efe:8.8.8.8", "fe80::5efe:8.8.8.8"),
    *("192.88.99.1", "192.0.0.9", "5f00::1", "3fff:fff::1", "3fff::", "2001::1", "2001:1::1"),
    *("100::1", "100:0:0:1::1", "1::1", "4000::1", "e000::1", "64:ff9b:2::1", "5eff::1"),
    *("2002:c058:6301::1", "::ffff:192.88.99.1"),
    *("192.0.2.1", "198.18.0.1", "240.0.0.1", "255.255.255.255", "2001:db8::1"),
]
PUBLIC = [
    *("1.1.1.1", "8.8.8.8", "172.32.0.1", "169.253.0.1", "2606:4700:4700::1111"),
    *("::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1"),
    # Just beside the networks that are refused.
    *("192.88.98.255", "192.88.100.0", "192.0.1.0", "3ffe:ffff::1", "3fff:1000::"),
    *("2000::1", "3ffe::1", "2001:200::1", "2001:470::1:5efe:808:808", "2001:470::5eff:808:808"),
]
UNUSUAL = ["127.1", "2130706433", "0", "127.0.0.1.", "127.0.0.256", "0177.0.0.1", "127.0.0"]
"""What some look-ups read as an address, though it is not written as one."""

CLOSED = Guard(is_open=False)


def test_an_internal_address_is_refused_except_from_loopback_and_a_public_one_is_not():
    """One is told how to allow it."""
    for address in INTERNAL:
        assert "allow it with --webhooks-to" in (CLOSED.why_not_to(address) or ""), address
        why = CLOSED.why_not("some.host", address) or ""
        assert why.startswith("the address of some.host is an internal address"), address
    assert CLOSED.why_not("some.host", "nonsense") == "nonsense is not an address"
    for guard, addresses in ((CLOSED, PUBLIC), (ANYWHERE, (*INTERNAL, *PUBLIC, *UNUSUAL))):
        for address in addresses:
            assert guard.why_not_to(address) is None, address
            assert guard.why_not("some.host", address) is None, address


def test_a_host_name_is_checked_when_it_is_resolved_and_anything_else_at_once():
    for host in ("example.com", "localhost", "a", "my_host.x-y.", "0x7f.x1"):
        assert CLOSED.why_not_to(host) is None, host
    others = ("\uff11\uff12\uff17.0.0.1", "127%2E0%2E0%2E1", "a..b", "-", "a" * 300)
    for host in (*UNUSUAL, *others):
        assert "neither a host name nor an address" in (CLOSED.why_not_to(host) or ""), host


# --- what is listed ---------------------------------------------------------------------------


LISTED = [
    ("10.0.0.0/8", "10.9.8.7"),
    ("10.0.0.1/8", "10.9.8.7"),
    ("127.0.0.1", "127.0.0.1"),
    ("127.0.0.1", "::ffff:127.0.0.1"),
    ("10.0.0.0/8", "64:ff9b::a00:1"),
    ("10.0.0.0/8", "::ffff:0:10.0.0.1"),
    ("10.0.0.0/8", "2001:470::5efe:10.0.0.1"),
    ("64:ff9b:1::/48", "64:ff9b:1::a00:1"),
    ("::1", "::1"),
    ("fd00::/8", "fd12::1"),
]


def test_a_listed_network_is_allowed_whatever_the_name():
    for allowed, address in LISTED:
        guard = Guard(is_open=False, allowed=[allowed])

        assert guard.why_not_to(address) is None, address
        assert guard.why_not("some.host", address) is None, address
        assert guard.why_not_to("192.168.0.1") is not None
        # Where the IPv4 address is within depends on the translator (RFC 6052, 2.2).
        is_listed = allowed.startswith("64:")
        assert (guard.why_not("some.host", "64:ff9b:1::10.0.0.1") is None) is is_listed


def test_a_listed_name_is_allowed_wherever_it_leads_and_nothing_else_is():
    guard = Guard(is_open=False, allowed=["Receiver"])

    assert guard.why_not("receiver", "172.18.0.5") is None
    assert guard.why_not("RECEIVER", "172.18.0.5") is None
    assert guard.why_not("other", "172.18.0.5") is not None
    assert guard.why_not_to("172.18.0.5") is not None


def test_a_bad_entry_is_refused_at_the_start_in_a_sentence():
    for entry in (
        *("", " ", "http://receiver", "10.0.0.0/33", "10.0.0.256", "10.0.0.0/8,::1", "::zz", "*"),
        *("receiver:8080", "*.example.com", "user@host", "a b", "127.0.0.1:80", "[::1]", "host/8"),
    ):
        with pytest.raises(SettingsError) as caught:
            build(Settings(host="0.0.0.0", webhooks_to=(entry,)))

        said = f"--webhooks-to: {entry!r} is neither a network nor a host name"
        assert str(caught.value) == said


def register(target: str, **settings):
    """The answer to an endpoint at this host, and how many endpoints there are then."""
    sandbox = InProcess(build(Settings(token="secret-of-the-test", **settings)))
    sandbox.defaults |= {"authorization": "Bearer secret-of-the-test"}
    path = "/worlds/default/endpoints"
    answer = sandbox.control("POST", path, {"url": f"http://{target}/x"})
    return answer, sandbox.control("GET", path).json()["total"]


def test_an_endpoint_at_an_internal_address_is_refused_when_others_can_reach_the_server():
    for host in ("127.0.0.1:9", "[::1]", "10.1", "[64:ff9b:1::a00:1]", "[::ffff:0:10.0.0.1]"):
        answer, total = register(host, host="0.0.0.0")

        assert_refused(answer, 400, "validation_error")
        assert answer.json()["message"].startswith("url: ")
        assert total == 0
    for host in ("127.0.0.1", "localhost", "::1"):
        assert register("10.0.0.1", host=host)[0].status == 201, host
    assert register("10.0.0.1", host="0.0.0.0", webhooks_to=("10.0.0.0/8",))[0].status == 201


def test_nothing_but_what_is_listed_is_sent_to_this_machine_except_from_loopback():
    sendings = [
        (host, CLOSED, False)
        for host in (
            *("127.0.0.1", "localhost", "LOCALHOST", "[::ffff:127.0.0.1]", "127.1", "2130706433"),
            *("0", "[::ffff:0:127.0.0.1]", "[64:ff9b:1::7f00:1]", "[2001:470::5efe:7f00:1]"),
        )
    ]
    sendings += [
        ("127.0.0.1", Guard(is_open=False, allowed=["127.0.0.0/8"]), True),
        ("localhost", Guard(is_open=False, allowed=["127.0.0.0/8", "::1"]), True),
        ("localhost", Guard(is_open=False, allowed=["localhost"]), True),
        ("127.0.0.1", Guard(is_open=False, allowed=["localhost", "::1"]), False),
        ("localhost", ANYWHERE, True),
    ]
    with receiving() as receiver:
        for host, guard, is_allowed in sendings:
            before = len(receiver.requests)
            (sent,) = send(f"http://{host}:{receiver.port}/", guard=guard)

            assert (sent.error is None) is is_allowed, host
            assert is_allowed or "address" in (sent.error or ""), host
            assert len(receiver.requests) - before == int(is_allowed)
