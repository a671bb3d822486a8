"""Ids differ from test to test and repeat from run to run. Source: assumed D47."""

import pytest

from tests.testing.pytesting import SETTINGS, run_pytest
from uat_sandbox.seeds import seed_of

TESTS = """
import json
from pathlib import Path

import pytest

def note(request, world):
    body = {"amount": 1000, "terminal_id": world.terminal()}
    made = world.client().post("/v3/payment", json=body).json()
    with Path("ids.txt").open("a") as file:
        print(request.node.name, made["transaction_id"], world.terminal(), file=file)

@pytest.fixture(scope="session")
def shop(sandbox_server):
    with sandbox_server.world() as world:
        yield world

def test_session(request, shop, sandbox):
    note(request, shop)
    note(request, sandbox)

@pytest.mark.parametrize("number", [1, 2])
def test_pays(request, sandbox, number):
    note(request, sandbox)
    note(request, sandbox.new_world())
"""


def _ids(folder, *arguments, **env):
    (folder / "test_shop.py").write_text(TESTS)
    run = run_pytest(folder, *arguments, "test_shop.py", **env)
    assert run.code == 0, run.output
    lines = (folder / "ids.txt").read_text().splitlines()
    (folder / "ids.txt").unlink()
    return [tuple(line.split()) for line in lines]


@pytest.mark.proves("assumed D47")
def test_each_world_has_ids_of_its_own_and_the_next_run_has_the_same(tmp_path):
    first = _ids(tmp_path)

    assert len({transaction for _, transaction, _ in first}) == len(first) == 6
    assert len({terminal for _, _, terminal in first}) == 6
    among_others = [one for one in first if one[0] == "test_pays[2]"]
    assert _ids(tmp_path, "-k", "test_pays and 2") == among_others


def test_no_name_of_a_test_gives_a_seed_that_looks_like_a_card_number():
    assert max(len(str(seed_of("test_it", number))) for number in range(2_000)) <= 12


def test_a_seed_can_be_fixed_for_all_worlds(tmp_path):
    for how in (["--sandbox-seed=7"], []):
        if not how:
            (tmp_path / "conftest.py").write_text(SETTINGS)
        ids = _ids(tmp_path, *how, "-k", "session or 1")

        assert len({transaction for _, transaction, _ in ids}) == 1, how

    run = run_pytest(tmp_path, "--sandbox-seed=seven", "test_shop.py")
    assert run.code != 0
    assert "sandbox_seed: 'seven' (from --sandbox-seed) is neither a whole number nor" in run.output
