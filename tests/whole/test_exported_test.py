"""A test that was exported runs in an empty folder, where only the two wheels are installed."""

import subprocess

import pytest

from tests.control.exports import RIGHT, contradicted_sale
from tests.whole.installing import clean_environment, install


@pytest.fixture(scope="module")
def python(packages, tmp_path_factory):
    made = install(tmp_path_factory.mktemp("tester") / "venv", packages.wheel, packages.kit)
    return made / "python"


def test_a_late_webhook_that_contradicts_the_answer_fails_wrong_software_only(python, tmp_path):
    wrong = contradicted_sale()
    files = {"test_wrong.py": wrong, "test_right.py": wrong.replace("return webhook.body", RIGHT)}
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
