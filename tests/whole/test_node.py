"""The guides' programs for Node: fetch, node:http and `standardwebhooks` alone, and npm's tests."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.driving import serving
from tests.whole.blocks import blocks_of
from tests.whole.installing import ROOT, run

GUIDE = "docs/guides/testing-from-other-languages.md"


@pytest.fixture
def program(node_modules: Path, tmp_path: Path) -> Path:
    """The program in a folder where its package is installed."""
    (block,) = [block for block in blocks_of(GUIDE) if block.file_name == "sale.mjs"]
    (tmp_path / "node_modules").symlink_to(node_modules)
    path = tmp_path / str(block.file_name)
    path.write_text(block.text, encoding="utf-8")
    return path


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


PACKAGE = '{"name": "shop", "private": true, "scripts": {"test": "node --test"}}'


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A project with the guide's test, for npm alone."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    (block,) = [block for block in blocks_of(GUIDE) if block.file_name == "payments.test.mjs"]
    (tmp_path / str(block.file_name)).write_text(block.text, encoding="utf-8")
    (tmp_path / "package.json").write_text(PACKAGE, encoding="utf-8")
    return tmp_path


def npm_test(shop: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """What the guide's job says: `sandbox run -- npm test`."""
    command = [sys.executable, "-m", "sandbox", "run", *options, "--", "npm", "test"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, cwd=shop, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_sandbox_run_gives_npm_test_a_server_and_returns_its_exit_status(shop):
    passed = npm_test(shop)

    assert passed.returncode == 0, passed.stdout
    assert "sandbox:" not in passed.stderr
    assert re.search(r"pass 1\b", passed.stdout)
    assert not (shop / "sandbox-failure").exists()

    # What is kept of it: tests/cli/test_run.py.
    failed = npm_test(shop, "--scenario", "insufficient_funds_then_success")

    assert (failed.returncode, "fail 1\n" in failed.stdout) == (1, True), failed.stdout
