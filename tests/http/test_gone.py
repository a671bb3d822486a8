"""What a client leaves behind that hangs up ends, whatever else was asked for on its connection."""

import logging

from tests.http.talking import HEALTH, Client, eventually, head_of, serving

WORLD = "/_sandbox/worlds/default"
STREAM = head_of(f"GET {WORLD}/stream")
WAIT = head_of(f"GET {WORLD}/wait?timeout_s=300")


def test_a_stream_or_a_wait_ends_with_its_connection():
    with serving() as sandbox:
        world = sandbox.sandbox.worlds.default

        def under_way() -> int:
            return len(world.subscriptions) + world.waits

        for asked in (STREAM, WAIT):
            for behind in (b"", HEALTH[:-2], b"\x00"):
                with Client(sandbox.port) as client:
                    client.send(asked)
                    eventually(lambda: under_way() == 1)
                    client.send(behind)
                    # What is behind has come in by the time another connection is answered.
                    with Client(sandbox.port) as other:
                        assert other.ask(HEALTH).status == 200
                eventually(lambda: under_way() == 0)


def test_a_body_that_came_is_not_late_because_another_request_is_answered_first():
    wait = WAIT.replace(b"timeout_s=300", b"timeout_s=0.6")
    switches = b'{"triggers.enabled": false}'
    head = head_of(f"PUT {WORLD}/switches", f"content-length: {len(switches)}")
    with serving(body_s=0.2) as sandbox, Client(sandbox.port) as client:
        client.send(wait + head)
        eventually(lambda: sandbox.sandbox.worlds.default.waits == 1)
        client.send(switches)

        assert [client.answer().status for _ in range(2)] == [408, 200]


def test_a_server_that_stops_ends_a_stream_at_once(caplog):
    for asked in (STREAM, STREAM + HEALTH):
        with caplog.at_level(logging.ERROR), serving() as sandbox, Client(sandbox.port) as client:
            client.send(asked)
            assert client.answer(has_body=False).status == 200

    assert caplog.records == []
