"""`sandbox open`, and the address that a server prints."""

import os

import pytest

from tests.cli.asking import ask, told
from tests.driving import serving

TOKEN = "open-sesame-open-sesame"


@pytest.fixture(scope="module")
def server():
    os.environ["SANDBOX_TOKEN"] = TOKEN
    try:
        with serving() as found:
            yield found
    finally:
        del os.environ["SANDBOX_TOKEN"]


def test_it_prints_an_address_that_signs_in_and_leads_to_the_world(server):
    shown = told("open", "--print", "--token", TOKEN, server=server).strip()

    assert shown == f"{server.facts['control_url']}/#token={TOKEN}/default/overview"


def test_a_world_that_there_is_not_is_not_opened(server):
    done = ask("open", "--print", "--world", "defualt", "--token", TOKEN, server=server)

    assert done.exit_code != 0
    assert "default" in done.stderr
