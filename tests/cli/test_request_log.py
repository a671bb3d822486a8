"""`sandbox serve` logs each request of the platform at a terminal, unless it is told otherwise."""

import os
import pty
import urllib.error
import urllib.request
from functools import partial

import pytest

from tests.cli.asking import attach
from tests.processes import Process


@pytest.mark.parametrize(
    ("options", "env", "is_logged"),
    [
        ([], {}, True),
        (["--no-log-requests"], {}, False),
        ([], {"SANDBOX_LOG_REQUESTS": "0"}, False),
    ],
)
def test_a_terminal_shows_each_request_unless_told_otherwise(options, env, is_logged):
    parent, child = pty.openpty()
    process = Process(
        ["serve", "--port", "0", *options], env=env, before=partial(attach, os.ttyname(child))
    )
    try:
        url = process.stdout.readline().split()[-1]
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(f"{url}/v5/apikeys")
        process.terminate()
        process.wait(20)
        os.write(child, b"end")
        said = b""
        while b"end" not in said:
            said += os.read(parent, 1000)
    finally:
        process.close()
        os.close(parent)
        os.close(child)

    assert (b"/v5/apikeys" in said) == is_logged, said
