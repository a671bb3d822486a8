"""Two servers that share worlds, behind HAProxy with the settings of `deploy/haproxy.cfg`."""

import contextlib
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.driving import until
from tests.servers.driving import serving
from tests.servers.postgres import until_listening
from tests.state.saved_worlds import SavedWorld
from tests.whole.installing import free_port

SETTINGS = Path(__file__).parents[2] / "deploy" / "haproxy.cfg"
LONGEST_S = 20.0
"""Three checks of a frozen server, and what is lost on a busy machine."""


@contextlib.contextmanager
def balancing(folder: Path, servers: dict[str, SavedWorld]) -> Iterator[str]:
    """The address of a balancer before these servers."""
    haproxy = shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    if haproxy is None:
        pytest.skip("HAProxy is not installed")
    port, settings = free_port(), SETTINGS.read_text()
    settings = settings.replace("bind :8080", f"bind 127.0.0.1:{port}")
    for name, server in servers.items():
        address = server.url.partition("://")[2]
        assert f"sandbox-{name}:8080" in settings
        settings = settings.replace(f"sandbox-{name}:8080", address)
    file = folder / "haproxy.cfg"
    file.write_text(settings)
    process = subprocess.Popen([haproxy, "-f", str(file)])
    try:
        until_listening(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


def sale(url: str, server: SavedWorld, **headers: str) -> httpx2.Response:
    return httpx2.post(
        f"{url}/v3/payment",
        headers={"x-service-apikey": server.key("merchant"), **headers},
        json=server.sale(),
        timeout=LONGEST_S,
    )


def test_the_balancer_learns_where_a_world_is_and_leaves_a_frozen_server(url: str, tmp_path: Path):
    with (
        serving(url, tmp_path, "1") as one,
        serving(url, tmp_path, "2") as other,
        balancing(tmp_path, {"1": one, "2": other}) as balancer,
    ):
        until(lambda: sale(balancer, one).status_code == 200)
        # It asks the servers in turn, until it has learnt.
        until(lambda: "x-sandbox-server" not in sale(balancer, one).headers)
        later = [sale(balancer, one) for _ in range(8)]
        assert {answer.status_code for answer in later} == {200}
        assert sum("x-sandbox-server" in answer.headers for answer in later) <= 1
        with pytest.raises(httpx2.RemoteProtocolError):
            sale(balancer, one, **{"x-sandbox-outcome": "drop_before"})

        owner = one if "x-sandbox-server" not in sale(one.url, one).headers else other
        owner.process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        with contextlib.suppress(httpx2.TransportError):
            sale(balancer, one)
        until(lambda: sale(balancer, one).status_code == 200, within_s=LONGEST_S)
        assert time.monotonic() - began < LONGEST_S
        owner.process.send_signal(signal.SIGCONT)

        for server in (one, other):
            server.end()
        assert sale(balancer, one).json()["error"] == "unavailable"
