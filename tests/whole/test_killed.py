"""`kill -9` at any moment under load: nothing acknowledged is lost, and nothing is done twice.

SANDBOX_KILLS=50 has 50 rounds for each kind of file, and prints what they came to.
"""

import os
from pathlib import Path

import pytest

from tests.state.killing import run_ordeal
from tests.state.saved_worlds import KINDS
from tests.webhooks.receiving import receiving

ROUNDS = int(os.environ.get("SANDBOX_KILLS", "1"))


@pytest.mark.parametrize("kind", KINDS)
def test_acknowledged_writes_are_there_once_after_every_kill(tmp_path: Path, kind: str):
    with receiving() as receiver:
        numbers = run_ordeal(tmp_path / f"state.{kind}", receiver, rounds=ROUNDS, seed=1)

    print(kind, numbers)
    assert numbers["kills"] == ROUNDS
    assert numbers["acknowledged"] > ROUNDS
