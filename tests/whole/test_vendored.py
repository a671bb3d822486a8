"""The console's modules of others are exactly what npm publishes at the locked versions."""

import shutil

import pytest

from tests.whole.installing import run
from tools import vendor


def test_vendoring_again_changes_nothing(tmp_path):
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed here")
    try:
        run("npm", "view", "htm", "version", cwd=tmp_path, timeout=60)
    except AssertionError as error:
        pytest.skip(f"the registry of npm cannot be asked here: {str(error)[-200:]}")

    vendor.main(tmp_path)

    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert written == {path.name: path.read_bytes() for path in vendor.VENDOR.iterdir()}
