"""What people paste into settings: secrets with line ends, paths of another system."""

import os

import pytest

from tests.cli.asking import ask
from tests.driving import Served


def test_white_space_around_a_secret_is_named(served: Served):
    body = {"url": "http://127.0.0.1:9/hook", "secret": "whsec_" + "A" * 32 + "\n"}

    answer = served.control("POST", "/worlds/default/endpoints", json=body)

    assert answer.status_code == 400
    assert "white space, such as a line end" in answer.json()["message"]


@pytest.mark.skipif(os.name != "posix", reason="on Windows these are paths")
def test_a_path_of_windows_is_refused_elsewhere():
    done = ask("serve", "--port", "0", "--store", r"C:\\Users\\x\\state.json")

    assert done.exit_code == 2
    assert "is a path of Windows" in done.stderr
