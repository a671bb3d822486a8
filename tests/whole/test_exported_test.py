"""A test that was exported runs in an empty folder, where only the two wheels are installed."""

import subprocess

import pytest

from tests.conftest import NOW
from tests.webhooks.hooked import Hooked
from tests.whole.installing import clean_environment, install

RIGHT = "return sandbox.client().get(f'/v1/transactions/{id}').json()"
"""What software does that reads the record from the platform."""


@pytest.fixture(scope="module")
def python(packages, tmp_path_factory):
    made = install(tmp_path_factory.mktemp("tester") / "venv", packages.wheel, packages.kit)
    return made / "python"


@pytest.fixture
def contradicted(served):
    """A sale whose webhook is contradicted by a second, late one."""
    world = served.control("POST", "/worlds", json={"clock": NOW}).json()
    hooked = Hooked(served, world["id"], world)
    hooked.ask("POST", "/receivers", {}, status=201)
    then = {"delay_ms": 10, "contradict": {"status": "declined"}}
    body = {"when": {"event": "transaction.sale"}, "then": then}
    hooked.ask("POST", "/webhooks/next", body, status=201)
    hooked.pay()
    hooked.ask("POST", "/clock/advance", {"by": "0s"})
    return str(hooked.ask("POST", "/export", {"as": "pytest"}, status=200).json()["content"])


def test_a_late_webhook_that_contradicts_the_answer_fails_wrong_software_only(
    python, contradicted, tmp_path
):
    right = contradicted.replace("return told[-1]", RIGHT)
    files = {"test_wrong.py": contradicted, "test_right.py": right}
    said = {}
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
        command = [python, "-m", "pytest", name]
        said[name] = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, env=clean_environment()
        )

    assert said["test_right.py"].returncode == 0, said["test_right.py"].stdout
    assert said["test_wrong.py"].returncode == 1, said["test_wrong.py"].stdout
    assert "assert 'declined' == 'captured'" in said["test_wrong.py"].stdout
