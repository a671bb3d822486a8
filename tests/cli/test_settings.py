"""Every option of `serve` can be given by an environment variable."""

import json

import click
import pytest

from sandbox.cli.serve import serve
from tests.cli.asking import ask
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


KUBERNETES = {
    "SANDBOX_PORT": "tcp://10.96.0.1:8080",
    "SANDBOX_PORT_8080_TCP": "tcp://10.96.0.1:8080",
    "SANDBOX_PORT_8080_TCP_ADDR": "10.96.0.1",
    "SANDBOX_PORT_8080_TCP_PORT": "8080",
    "SANDBOX_PORT_8080_TCP_PROTO": "tcp",
    "SANDBOX_SERVICE_HOST": "10.96.0.1",
    "SANDBOX_SERVICE_PORT": "8080",
    "SANDBOX_SERVICE_PORT_HTTP": "8080",
    "SANDBOX_CONTROL_PORT": "tcp://10.96.0.2:8081",
    "SANDBOX_CONTROL_SERVICE_HOST": "10.96.0.2",
    "SANDBOX_DB_PORT": "tcp://10.96.0.3:5432",
}
"""What Kubernetes sets beside services named sandbox, sandbox-control and sandbox-db."""


def logged(*options: str) -> list[str]:
    with serving(*options) as server:
        server.process.terminate()
        _, err = server.process.communicate(timeout=10)
    lines = [json.loads(line) for line in err.splitlines()]
    return [line["message"] for line in lines if line["level"] == "warning"]


def test_variables_that_kubernetes_sets_for_services_stop_nothing(monkeypatch):
    for name, value in KUBERNETES.items():
        monkeypatch.setenv(name, value)

    said = logged()

    assert said == [
        f"{name}={KUBERNETES[name]} is the address of a service, not a port, and is passed over"
        for name in ("SANDBOX_CONTROL_PORT", "SANDBOX_PORT")
    ]


def test_a_port_that_is_not_a_number_is_refused_as_before(monkeypatch):
    monkeypatch.setenv("SANDBOX_PORT", "eighty")

    done = ask("serve", "--host", "256.256.256.256")

    assert done.exit_code == 2
    assert "'eighty' is not a valid integer range" in done.stderr


def test_a_misspelt_variable_is_told_with_the_nearest(monkeypatch):
    monkeypatch.setenv("SANDBOX_PROT", "9000")
    monkeypatch.setenv("SANDBOX_LOG_REQUEST", "1")
    monkeypatch.setenv("SANDBOX_KEY_PARTNER", "a key that `sandbox keys --env` printed")

    said = logged()

    assert said == [
        "the variable SANDBOX_LOG_REQUEST is not a known setting of the sandbox; did you mean "
        "SANDBOX_LOG_REQUESTS?",
        "the variable SANDBOX_PROT is not a known setting of the sandbox; did you mean "
        "SANDBOX_PORT?",
    ]


def test_an_option_counts_before_its_variable(monkeypatch):
    monkeypatch.setenv("SANDBOX_SEED", "7")

    with serving("--seed", "8") as server:
        assert server.control("GET", "/worlds/default").json()["seed"] == 8
