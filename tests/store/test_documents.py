"""Documents of records: whatever a record holds comes back, by either way of reading."""

import json
import subprocess
import sys

from sandbox.domain.webhooks import WebhookFault
from sandbox.store.documents import from_document, from_own, to_text

HUGE = 10**30


def test_numbers_of_any_size_come_back():
    record = WebhookFault(id="rule", when={"amount": HUGE}, then={"drop": True}, left=1)

    document = json.loads(to_text(record))

    assert from_own(WebhookFault, document) == from_document(WebhookFault, document) == record


THREADS = """
import sys, threading
from typing import Annotated
from msgspec import Meta, defstruct
from sandbox.store.documents import from_own

sys.setswitchinterval(1e-6)
for _ in range(500):
    part = defstruct("Part", [("a", int)])
    named = Annotated[part | None, Meta(title="part")]
    whole = defstruct("Whole", [(f"part_{number}", named, None) for number in range(8)])
    begin = threading.Barrier(3)

    def read():
        begin.wait()
        from_own(whole, {"part_0": {"a": 1}, "part_7": {"a": 1}})

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_several_threads_may_be_the_first_to_read_a_kind_of_record():
    """Worlds are restored in threads, several at once where a server takes over for another."""
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, timeout=60)

    assert (done.returncode, done.stderr) == (0, b"")
