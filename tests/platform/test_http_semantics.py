"""What HTTP asks of every server, on both surfaces. Source: assumed D44."""

from email.utils import parsedate_to_datetime
from time import time

import pytest

from sandbox.control.routes import CONTROL
from sandbox.platform.routes import OPERATIONS
from tests.http.talking import Client

READS = [row.path for row in OPERATIONS if row.method == "GET" and "{" not in row.path]
OWN = [
    row.path.replace("{w}", "default")
    for row in CONTROL
    if row.method == "GET" and "{" not in row.path.replace("{w}", "") and not row.is_ended_by_client
]


@pytest.mark.proves("assumed D44")
def test_head_has_the_status_and_headers_of_get(served):
    for path in READS + OWN:
        asked = served.ask("HEAD", path, key="merchant")
        assert asked.content == b"", path
        if path.endswith("/stream"):
            assert asked.headers["content-type"] == "text/event-stream"
            continue
        got = served.ask("GET", path, key="merchant")
        assert asked.status_code == got.status_code, path
        if path in READS:
            assert asked.headers["content-length"] == str(len(got.content)), path


@pytest.mark.proves("assumed D44")
def test_every_answer_has_the_real_time_as_its_date(served):
    for path in ("/v1/accounts", "/_sandbox/health", "/nowhere"):
        date = served.ask("GET", path, key="merchant").headers["date"]
        assert abs(parsedate_to_datetime(date).timestamp() - time()) < 60


@pytest.mark.proves("assumed D44, C6")
def test_names_of_headers_have_any_case_and_blanks_behind_them_are_no_part_of_them(served):
    with Client(served.port) as client:
        for name in ("x-service-apikey", "X-Service-APIKey", "X-SERVICE-APIKEY"):
            for blank in ("", " ", "\t", " \t "):
                fields = f"host: localhost{blank}\r\n{name}: {served.key('merchant')}{blank}"
                head = f"GET /v1/accounts HTTP/1.1\r\n{fields}\r\n\r\n"
                assert client.ask(head.encode()).status == 200
