"""The guide's program for Node: fetch, node:http and the npm package `standardwebhooks` alone."""

import re
from pathlib import Path

import pytest

from tests.driving import serving
from tests.whole.blocks import blocks_of
from tests.whole.installing import run

GUIDE = "docs/guides/testing-from-other-languages.md"


@pytest.fixture
def program(node_modules: Path | str, tmp_path: Path) -> Path:
    """The program in a folder where its package is installed."""
    if isinstance(node_modules, str):
        pytest.skip(node_modules)
    (block,) = [block for block in blocks_of(GUIDE) if block.language == "js"]
    (tmp_path / "node_modules").symlink_to(node_modules)
    path = tmp_path / str(block.file_name)
    path.write_text(block.text, encoding="utf-8")
    return path


def test_the_program_needs_nothing_but_node_and_standardwebhooks(program):
    imported = re.findall(r"^import .* from \"(.+)\";$", program.read_text(), re.MULTILINE)

    assert {name for name in imported if not name.startswith("node:")} == {"standardwebhooks"}


def test_a_node_program_makes_a_sale_in_a_world_of_its_own_and_verifies_its_webhook(program):
    with serving() as server:
        said = run("node", program, cwd=program.parent, SANDBOX_URL=server.url)
        worlds = server.control("GET", "/worlds").json()
        covered = server.control("GET", "/coverage").json()

    assert re.fullmatch(r"[0-9a-f-]{36} is captured, and its webhook is genuine\n", said)
    assert [world["id"] for world in worlds["worlds"]] == ["default"]
    assert covered["operations"]["exercised"] == {"payments.create": 1}


def test_the_program_fails_when_the_sale_does_not_go_as_it_says(program):
    text = program.read_text()
    program.write_text(text.replace("amount: 1000,", "amount: 900051,"))

    with serving() as server, pytest.raises(AssertionError, match="declined"):
        run("node", program, cwd=program.parent, SANDBOX_URL=server.url)
