"""Servers that share worlds, killed under load: nothing acknowledged is lost, or done twice.

SANDBOX_KILLS=50 has 50 rounds of each kind, and prints what they came to.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.killing import KILLED, FleetOrdeal
from tests.servers.postgres import Postgres, serving_postgres
from tests.webhooks.receiving import receiving

ROUNDS = int(os.environ.get("SANDBOX_KILLS", "1"))


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with serving_postgres() as postgres:
        yield postgres


@pytest.mark.parametrize("killed", KILLED)
def test_what_was_acknowledged_is_there_once_after_every_kill(
    tmp_path: Path, postgres: Postgres, killed: str
):
    with receiving() as receiver:
        ordeal = FleetOrdeal(postgres, tmp_path, receiver, seed=1)

        ordeal.run_fleet(ROUNDS, killed)

    print(killed, ordeal.numbers)
    assert ordeal.numbers.kills == ROUNDS
    assert ordeal.numbers.acknowledged > ROUNDS
