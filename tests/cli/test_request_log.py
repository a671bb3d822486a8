"""`sandbox serve` logs each request of the platform at a terminal, unless it is told otherwise."""

import os
import pty
import re
import urllib.error
import urllib.request
from functools import partial

import httpx2
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


def _break() -> None:
    """A defect of the server, for the process that it is called in."""
    from sandbox.platform.recorder import Recorder

    def fail(*_: object) -> None:
        raise RuntimeError("made for the test")

    Recorder.record = fail  # type: ignore[method-assign]


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_traceback_in_the_log_has_a_clean_first_line(log_format):
    process = Process(["serve", "--port", "0", "--log-format", log_format], before=_break)
    try:
        line = process.stdout.readline()
        url = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert url is not None, line
        answer = httpx2.get(f"{url[0]}/v5/apikeys", timeout=10)
        process.terminate()
        _, err = process.communicate(timeout=10)
    finally:
        process.close()

    assert answer.status_code == 500
    assert "made for the test" in err
    assert r"application\n" not in err
