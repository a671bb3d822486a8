"""Both distributions are one release."""

import sandbox
import uat_sandbox


def test_the_kit_has_the_version_of_the_server():
    assert uat_sandbox.__version__ == sandbox.__version__
