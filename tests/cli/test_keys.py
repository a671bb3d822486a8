"""`sandbox keys`: the keys of a cast, to paste and for shells."""

import json
import subprocess

import pytest

from tests.cli.asking import add_world, told


@pytest.fixture(scope="module")
def world(served):
    return add_world(served, "keyed")


def test_all_keys_are_shown_in_full(served, world):
    lines = told("keys", "--world", "keyed", server=served).splitlines()

    shown = dict(line.split() for line in lines)
    assert shown.pop("name") == "key"
    assert shown == {name: key["key"] for name, key in world["keys"].items()}


def test_one_key_is_printed_bare(served, world):
    printed = told("keys", "--world", "keyed", "--name", "partner", server=served)

    assert printed == world["keys"]["partner"]["key"] + "\n"


def test_json_is_names_and_keys(served, world):
    printed = told("keys", "--name", "partner", "--json", SANDBOX_WORLD="keyed", server=served)

    assert json.loads(printed) == {"partner": world["keys"]["partner"]["key"]}


def test_a_shell_takes_the_variables(served, world):
    script = told("keys", "--world", "keyed", "--env", server=served)
    names = "$SANDBOX_KEY $SANDBOX_TERMINAL $SANDBOX_KEY_MERCHANT_READ_ONLY"

    done = subprocess.run(
        ["sh", "-c", f"{script}echo {names}"], capture_output=True, text=True, timeout=10
    )

    assert done.stdout.split() == [
        world["keys"]["merchant"]["key"],
        world["terminals"]["merchant"],
        world["keys"]["merchant_read_only"]["key"],
    ]


def test_variables_of_another_key_are_its_own(served, world):
    lines = told("keys", "--world", "keyed", "--env", "--name", "psp", server=served).splitlines()

    key = world["keys"]["psp"]["key"]
    assert lines == [f"export SANDBOX_KEY={key}", f"export SANDBOX_KEY_PSP={key}"]
