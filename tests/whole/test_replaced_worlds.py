"""A world that is replaced while its webhooks wait to be sent."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.driving import serving
from tests.state.remote import Remote
from tests.webhooks.receiving import Answer, receiving

ROUNDS = 5
WAITS_S = 30.0
LARGE = {"id": "large", "invent": {"merchants": 3_000}}
"""A file with this world takes a moment to write, and webhooks wait until a change is in it."""


def test_a_world_can_be_replaced_while_its_webhooks_wait(tmp_path: Path):
    options = ("--store", str(tmp_path / "state.json"))
    gate = threading.Event()
    with receiving(Answer(gate=gate)) as receiver, serving(*options) as server:
        world = Remote(server)
        empty = world.saved()
        world.add_endpoint(url=receiver.url)
        world.pay()
        receiver.wait_for(1)
        unsent = world.saved()
        gate.set()
        world.control("POST", "/worlds", LARGE).expect(201)

        # The one has a webhook to send, whose payment the other has not.
        with ThreadPoolExecutor(2 * ROUNDS) as threads:
            loaded = list(threads.map(world.load, [unsent, empty] * ROUNDS))
        server.process.terminate()
        log = server.process.communicate(timeout=WAITS_S)[1]

    assert {answer.status for answer in loaded} == {200}
    assert "defect" not in log, log
