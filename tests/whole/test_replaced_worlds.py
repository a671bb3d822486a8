"""A world that is replaced while its webhooks wait to be sent."""

import threading
from pathlib import Path

from tests.driving import Served, serving
from tests.webhooks.receiving import Answer, receiving

ROUNDS = 5
WAITS_S = 30.0
LARGE = {"id": "large", "invent": {"merchants": 3_000}}
"""A file with this world takes a moment to write, and webhooks wait until a change is in it."""


def test_a_world_can_be_replaced_while_its_webhooks_wait(tmp_path: Path):
    options = ("--store", str(tmp_path / "state.json"))
    gate = threading.Event()
    with receiving(Answer(gate=gate)) as receiver, serving(*options) as server:
        empty = snapshot(server)
        server.control("POST", "/worlds/default/endpoints", json={"url": receiver.url})
        server.pay()
        receiver.wait_for(1)
        unsent = snapshot(server)
        gate.set()
        server.control("POST", "/worlds", json=LARGE, timeout=WAITS_S)

        # The one has a webhook to send, whose payment the other has not.
        loads = [start_loading(server, moment) for _ in range(ROUNDS) for moment in (unsent, empty)]
        for one in loads:
            one.join()
        server.process.terminate()
        log = server.process.communicate(timeout=WAITS_S)[1]

    assert "defect" not in log, log


def snapshot(server: Served) -> bytes:
    return server.control("GET", "/worlds/default/snapshot").content


def start_loading(server: Served, moment: bytes) -> threading.Thread:
    """Load a snapshot; the answer comes once the file has it."""

    def load() -> None:
        answer = server.control("PUT", "/worlds/default/snapshot", content=moment, timeout=WAITS_S)
        assert answer.status_code == 200, answer.text

    thread = threading.Thread(target=load)
    thread.start()
    return thread
