"""What HTTP asks of every server, on both surfaces. Source: assumed D44."""

from email.utils import parsedate_to_datetime
from time import time

import pytest

from sandbox.control.routes import CONTROL
from sandbox.platform.routes import OPERATIONS
from tests.http.talking import Client, port_of

READS = [row.path for row in OPERATIONS if row.method == "GET" and "{" not in row.path]
OWN = [
    row.path.replace("{w}", "default")
    for row in CONTROL
    if row.method == "GET" and "{" not in row.path.replace("{w}", "") and not row.is_ended_by_client
]


@pytest.mark.proves("assumed D44")
@pytest.mark.parametrize("path", READS)
def test_head_has_the_status_and_headers_of_get_on_the_platform(served, path):
    got, asked = (served.ask(method, path, key="merchant") for method in ("GET", "HEAD"))

    assert asked.status_code == got.status_code
    assert asked.content == b""
    assert asked.headers["content-length"] == str(len(got.content))


@pytest.mark.proves("assumed D44")
@pytest.mark.parametrize("path", OWN)
def test_head_has_the_status_of_get_on_the_control_api(served, path):
    asked = served.client.head(served.url + path)

    assert asked.content == b""
    if not path.endswith("/stream"):
        assert asked.status_code == served.client.get(served.url + path).status_code
    else:
        assert asked.headers["content-type"] == "text/event-stream"


@pytest.mark.proves("assumed D44")
@pytest.mark.parametrize("path", ["/v1/accounts", "/_sandbox/health", "/nowhere"])
def test_every_answer_has_the_real_time_as_its_date(served, path):
    answer = served.ask("GET", path, key="merchant")

    assert abs(parsedate_to_datetime(answer.headers["date"]).timestamp() - time()) < 60


@pytest.mark.proves("assumed D44")
@pytest.mark.parametrize("blank", [" ", "\t", " \t "])
@pytest.mark.parametrize("name", ["x-service-apikey", "host"])
def test_blanks_at_the_end_of_a_header_are_no_part_of_it(served, blank, name):
    ends = {"x-service-apikey": "", "host": "", name: blank}
    head = (
        f"GET /v1/accounts HTTP/1.1\r\nhost: localhost{ends['host']}\r\n"
        f"x-service-apikey: {served.key('merchant')}{ends['x-service-apikey']}\r\n\r\n"
    )

    with Client(port_of(served.url)) as client:
        assert client.ask(head.encode()).status == 200
