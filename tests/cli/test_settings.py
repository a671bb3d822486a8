"""Every option of `serve` can be given by an environment variable."""

import click
import pytest

from sandbox.cli.main import serve
from tests.driving import serving

OPTIONS = [one for one in serve.params if isinstance(one, click.Option)]


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.opts[0])
def test_each_option_has_the_variable_of_its_name(option):
    assert option.envvar == "SANDBOX_" + option.opts[0][2:].replace("-", "_").upper()


def test_a_server_can_be_set_up_by_variables_alone(monkeypatch):
    for name, value in (
        ("SANDBOX_SEED", "7"),
        ("SANDBOX_FIXTURE", "empty"),
        ("SANDBOX_NO_EXPLAIN_HEADERS", "true"),
        ("SANDBOX_CLOCK", "2026-07-01T09:00:00Z"),
        ("SANDBOX_WEBHOOKS_TO", "10.0.0.0/8 receiver.example"),
    ):
        monkeypatch.setenv(name, value)

    with serving() as server:
        answer = server.ask("GET", "/v5/apikeys", key="admin")
        world = server.control("GET", "/worlds/default").json()

    assert (world["seed"], world["fixture"], world["clock"]["mode"]) == (7, "empty", "frozen")
    assert [name for name in answer.headers if name.startswith("x-sandbox")] == []


def test_an_option_counts_before_its_variable(monkeypatch):
    monkeypatch.setenv("SANDBOX_SEED", "7")

    with serving("--seed", "8") as server:
        assert server.control("GET", "/worlds/default").json()["seed"] == 8
