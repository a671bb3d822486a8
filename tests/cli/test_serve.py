"""`sandbox serve`: its options and their variables, refusals, the banner, and the log."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import click
import httpx2
import pytest

from sandbox import __version__
from sandbox.cli.serve import serve
from sandbox.settings import Settings
from tests.cli.asking import (
    ask,
    assert_refused,
    at_terminal,
    banner_of,
    read_until,
    refuse,
    told,
)
from tests.driving import NOW, serving
from tests.processes import Process

# --- refusals ---------------------------------------------------------------------------------


REFUSED = {
    "--clock yesterday": ["--clock", "'yesterday'", "2026-07-01T00:00:00Z"],
    "--clock 2026-02-30T00:00:00Z": ["--clock", "running"],
    "--clock 1969-12-31T23:59:59Z": ["--clock", "1969-12-31T23:59:59Z"],
    "--profile nowhere.toml": ["nowhere.toml"],
    "--host=": ["--host: is empty"],
    "--port 0 --host nowhere.invalid": ["nowhere.invalid", "choose another with --host"],
    "--port 0 --host 192.0.2.1": ["192.0.2.1", "choose another with --host"],
    "--port 65536": ["--port"],
    "--control-port -1": ["--control-port"],
    f"--seed {2**63}": ["--seed"],
    **{f"--invent {one}": ["--invent", "merchants=200"] for one in ("merchants", "merchants=3,")},
    "--invent merchants=-1": ["--invent", "merchants: ", "greater than or equal to 0"],
    "--invent merchants=3,shops=3": ["--invent", "shops"],
    "--invent merchants=51,terminals_per_merchant=1000": ["--invent", "50000"],
    "--log-format xml": ["--log-format", "text", "json"],
    "--invent merchant=2": ["merchant: unknown field; did you mean 'merchants'?"],
    "--worlds-max 0": ["--worlds-max"],
    "--worlds-unused-after-s 0": ["--worlds-unused-after-s"],
    "--journal-entries-max 0": ["--journal-entries-max"],
    "--store mysql+asyncpg://me:it@db/x": ["--store: a URL that begins with mysql+asyncpg://"],
    "--watch": ["--watch: there is no file to watch; name one with --scenario"],
    "--prot 0": ["--prot", "--port"],
    "--config sandbox.toml": ["no settings file", "SANDBOX_PORT"],
}


def test_an_unusable_option_is_refused_in_a_sentence():
    for line, words in REFUSED.items():
        assert_refused(refuse(*line.split()), 2, *words)


@pytest.mark.skipif(os.name != "posix", reason="on Windows these are paths")
def test_a_path_of_windows_is_refused_elsewhere():
    assert_refused(refuse("--store", r"C:\\Users\\x\\state.json"), 2, "is a Windows path")


def test_a_profile_that_cannot_be_used_is_refused_with_file_and_field(tmp_path):
    path = tmp_path / "mine.toml"
    for toml, words in {
        "api_key_header = " + "[" * 5_000: ["is not TOML: it is nested too deeply"],
        "api_key_headr = 'X-Key'": ["api_key_headr: unknown field; did you mean 'api_key_header'?"],
        "[key_prefixes]\nuit = 'a'": ["key_prefixes.uit: unknown field; did you mean 'uat'?"],
        "api_key_header = 5": ["api_key_header"],
        "api_key_header = 'not a header'": ["api_key_header"],
        "supplied_key_field = 'name'": ["supplied_key_field"],
        "[key_prefixes]\nuat = 'svc'": ["key_prefixes", "differ"],
        "[key_prefixes]\nuat = 'ends_'": ["key_prefixes", "uat"],
        "[date_filters]\nend = 'start_date'": ["date_filters", "differ"],
        "[errors]\nshape = 'xml'": ["errors.shape", "detail"],
        "[verified]\n'spec 4.1' = 'yesterday'": ["verified", "is not a date"],
        "production_hosts = ['https://api.example.com']": ["production_hosts", "is not a host"],
    }.items():
        path.write_text(toml, encoding="utf-8")

        assert_refused(refuse("--profile", str(path)), 2, "mine.toml", *words)


def test_a_server_that_cannot_begin_says_why_and_ends(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.json").write_text('{"accounts": {"1": {"cast": "admin"}}}', encoding="utf-8")
    shop = {"cast": "shop", "type": "merchant", "name": "Shop", "description": "Shop"}
    fixture = {"accounts": {"1": shop | {"created_at": NOW}}}
    Path("shop.json").write_text(json.dumps(fixture), encoding="utf-8")
    for line, words in {
        "--fixture dmeo": ["'dmeo'", "demo", "empty"],
        "--fixture nowhere/mine.json": ["nowhere/mine.json"],
        "--fixture mine.json": ["mine.json", "accounts.1.type"],
        "--fixture shop.json --invent merchants=1": ["no account of the fixture can have"],
        "--scenario aprove_all": ["'aprove_all'; did you mean 'approve_all'?"],
        "--scenario nowhere/mine.toml": ["nowhere/mine.toml", "cannot be read"],
        "--store postgresql//me:it@db/x": ["sandbox: ***@db/x: cannot tell what kind of file"],
        "--host \udcff": ["cannot listen on \\udcff"],
    }.items():
        assert_refused(ask("serve", "--port", "0", *line.split()), 2, *words)


@pytest.mark.parametrize("port", ["", ":8080"])
@pytest.mark.parametrize("host", ["sandbox-1", "[fd00::1]"])
def test_the_control_api_of_a_server_is_reached_at_its_host_and_own_port(host, port):
    settings = Settings(advertise=f"http://{host}{port}", control_port=8081)

    assert settings.advertised_control_url == f"http://{host}:8081"


def test_a_port_that_is_taken_is_refused_with_the_option_to_change(monkeypatch):
    recipe = Path(__file__).parents[2].joinpath("Makefile").read_text(encoding="utf-8")
    hint = "make run PORT=9000"
    assert f"SANDBOX_PORT_HINT='{hint}'" in recipe
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        platform = ask("serve", "--port", port)
        control = ask("serve", "--port", "0", "--control-port", port)
        monkeypatch.setenv("SANDBOX_PORT_HINT", hint)
        of_make = ask("serve", "--port", port)

    assert_refused(platform, 2, port, "--port")
    assert_refused(control, 2, port, "--control-port")
    assert f"choose another with {hint}\n" in of_make.stderr


# --- variables of the environment -------------------------------------------------------------


def test_each_option_has_the_variable_of_its_name():
    for option in serve.params:
        if isinstance(option, click.Option):
            name = option.opts[0][2:].replace("-", "_").upper()
            assert option.envvar == f"SANDBOX_{name}"


# Of Kubernetes, beside services named sandbox, sandbox-control and sandbox-db.
SERVICES = {
    "SANDBOX_CONTROL_PORT": "tcp://10.96.0.2:8081",
    "SANDBOX_PORT": "tcp://10.96.0.1:8080",
    "SANDBOX_PORT_8080_TCP": "tcp://10.96.0.1:8080",
    "SANDBOX_PORT_8080_TCP_ADDR": "10.96.0.1",
    "SANDBOX_PORT_8080_TCP_PORT": "8080",
    "SANDBOX_PORT_8080_TCP_PROTO": "tcp",
    "SANDBOX_SERVICE_HOST": "10.96.0.1",
    "SANDBOX_SERVICE_PORT": "8080",
    "SANDBOX_SERVICE_PORT_HTTP": "8080",
    "SANDBOX_CONTROL_SERVICE_HOST": "10.96.0.2",
    "SANDBOX_DB_PORT": "tcp://10.96.0.3:5432",
}
VARIABLES = {
    "SANDBOX_SEED": "7",
    "SANDBOX_FIXTURE": "empty",
    "SANDBOX_NO_EXPLAIN_HEADERS": "true",
    "SANDBOX_CLOCK": "2026-07-01T09:00:00Z",
    "SANDBOX_WEBHOOKS_TO": "10.0.0.0/8 receiver.example",
    "SANDBOX_KEY_PARTNER": "a key that `sandbox keys --env` printed",
}
MISSPELT = {"SANDBOX_PROT": "9000", "SANDBOX_LOG_REQUEST": "1"}


def test_variables_configure_a_server_and_misspelt_ones_are_reported(monkeypatch):
    for name, value in (SERVICES | VARIABLES | MISSPELT).items():
        monkeypatch.setenv(name, value)

    with serving("--seed", "8") as server:
        answer = server.ask("GET", "/v5/apikeys", key="admin")
        world = server.control("GET", "/worlds/default").json()
        _, _, err = server.process.stop()

    # An option outweighs its variable.
    assert (world["seed"], world["fixture"], world["clock"]["mode"]) == (8, "empty", "frozen")
    assert list(world["keys"]) == ["admin"]
    assert [name for name in answer.headers if name.startswith("x-sandbox")] == []
    lines = [json.loads(line) for line in err.splitlines()]
    unknown = "is not a known setting of the sandbox; did you mean"
    assert sorted(line["message"] for line in lines if line["level"] == "warning") == [
        f"SANDBOX_CONTROL_PORT={SERVICES['SANDBOX_CONTROL_PORT']} is the address of a service, "
        "not a port, and is ignored",
        f"SANDBOX_PORT={SERVICES['SANDBOX_PORT']} is the address of a service, "
        "not a port, and is ignored",
        f"the variable SANDBOX_LOG_REQUEST {unknown} SANDBOX_LOG_REQUESTS?",
        f"the variable SANDBOX_PROT {unknown} SANDBOX_PORT?",
    ]
    monkeypatch.setenv("SANDBOX_PORT", "eighty")
    assert_refused(refuse(), 2, "'eighty' is not a valid integer range")


# --- servers ----------------------------------------------------------------------------------

PROFILE = """
api_key_header = "X-Acme-Token"
key_prefixes = { uat = "acme_test", production = "acme_prod", legacy = "acme" }
errors.shape = "detail"
"""


def test_a_profile_and_addresses_change_what_is_served_and_sent_where(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(PROFILE, encoding="utf-8")

    options = ("--clock", NOW, "--profile", str(path), "--control-port", "0", "--webhook", "9000")
    with serving(*options) as server:
        key, control_url = server.key("merchant"), server.facts["control_url"]
        new = server.ask("GET", "/v5/apikeys", headers={"X-Acme-Token": key})
        old = server.ask("GET", "/v5/apikeys", headers={"x-service-apikey": key})
        elsewhere = server.ask("GET", "/_sandbox/health")
        world = told("world", "new", SANDBOX_URL=control_url)
        endpoints = told("endpoint", "list", SANDBOX_URL=control_url)

    assert "http://127.0.0.1:9000/" in endpoints
    assert server.facts["api_key_header"] == "X-Acme-Token"
    assert key.startswith("acme_test_demomerchant_")
    assert (new.status_code, old.status_code, elsewhere.status_code) == (200, 401, 404)
    assert list(elsewhere.json()) == ["detail"]
    assert not control_url.startswith(server.url)
    assert f"curl -s {server.url}/v3/payment -H 'X-Acme-Token: acme_" in world


def test_the_banner_describes_the_served_world(served):
    world = served.control("GET", "/worlds/default").json()

    facts = served.facts
    assert (facts["event"], facts["version"], facts["token"]) == ("started", __version__, None)
    assert (facts["fixture"], facts["seed"]) == ("demo", 1)
    assert facts["clock"] == {"now": NOW, "mode": "frozen", "rate": 1.0}
    assert facts["keys"] == {name: one["key"] for name, one in world["keys"].items()}


# --- the log ----------------------------------------------------------------------------------


def test_in_the_json_format_every_line_is_json():
    with serving("--clock", NOW, "--log-requests") as server:
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(b"garbage\r\n\r\n")
            connection.recv(1_000)
        upgrade = {"connection": "upgrade", "upgrade": "websocket"}
        server.ask("GET", "/v5/apikeys", key="merchant", headers=upgrade)
        server.ask("GET", "/v5/apikeys", key="svc_live_something")
        server.ask("GET", "/line%0Abreak")
        _, out, err = server.process.stop()

    lines = [json.loads(line) for line in (out + err).splitlines()]
    assert len(lines) >= 4
    assert all({"at", "level", "logger", "message"} <= set(line) for line in lines)


@pytest.mark.parametrize(
    ("options", "env", "is_logged"),
    [
        ([], {}, True),
        (["--no-log-requests"], {}, False),
        ([], {"SANDBOX_LOG_REQUESTS": "0"}, False),
    ],
)
def test_a_terminal_shows_each_request_unless_told_otherwise(options, env, is_logged):
    with at_terminal("serve", "--port", "0", *options, **env) as (process, person):
        url = process.stdout.readline().split()[-1]
        assert httpx2.get(f"{url}/v5/apikeys", timeout=10).status_code == 401
        process.terminate()
        process.wait(20)
        os.write(person, b"end")
        said = read_until(person, "end")

    assert ("/v5/apikeys" in said) == is_logged, said


def _break() -> None:
    """A defect of the server, for the process that it is called in."""
    from sandbox.platform.recorder import Recorder

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("made for the test")

    Recorder.record = fail  # type: ignore[method-assign]


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_traceback_in_the_log_has_a_clean_first_line(log_format):
    command = ["serve", "--port", "0", "--log-format", log_format]
    with closing(Process(command, before=_break)) as process:
        (url,) = re.findall(r"http://127\.0\.0\.1:\d+", process.stdout.readline())[:1]
        answer = httpx2.get(f"{url}/v5/apikeys", timeout=10)
        _, _, err = process.stop()

    assert answer.status_code == 500
    assert "made for the test" in err
    assert r"application\n" not in err


# --- the text banner --------------------------------------------------------------------------


def curl(line: str) -> bytes:
    """The answer to a curl line."""
    return subprocess.run(shlex.split(line), capture_output=True, timeout=10, check=True).stdout


def banner_keys(lines: list[str]) -> dict[str, str]:
    """The keys in the banner, by name."""
    return dict(line.split() for line in lines if "  svc_" in line and "curl" not in line)


OF_THIS_SERVER = "These keys belong to this server only"


def test_the_banner_has_lines_to_paste_that_work():
    with banner_of("--clock", NOW) as (lines, process):
        pasted = [json.loads(curl(line)) for line in lines if line.strip().startswith("curl ")]
        (address,) = [line.strip() for line in lines if line.endswith("/docs")]
        page = curl(f"curl -s {address}")
        (more,) = [line.partition("and 9 more: ")[2] for line in lines if " more: " in line]
        listed = subprocess.run(shlex.split(more), capture_output=True, text=True, check=True)
        code, out, err = process.stop(signal.SIGINT)

    payment, requests = pasted
    assert out.splitlines()[-1] == "stopped; 1 request, nothing kept"
    assert [line for line in lines if line.startswith(OF_THIS_SERVER)] == []
    assert page.startswith(b"<!doctype html>")
    assert f"uat-sandbox {__version__} serves the platform on http://127.0.0.1:" in lines[0]
    assert list(banner_keys(lines)) == ["merchant", "partner", "psp", "admin"]
    assert banner_keys(lines).items() <= banner_keys(listed.stdout.splitlines()[1:]).items()
    assert (payment["status"], payment["total_amount"]) == ("captured", 1000)
    assert [entry["path"] for entry in requests["requests"]] == ["/v3/payment"]
    assert (code, err) == (0, "")


def test_the_banner_names_a_usable_address_its_command_and_whose_keys_it_shows(monkeypatch, served):
    monkeypatch.setenv("PATH", "/nowhere")
    with banner_of("--host", "0.0.0.0") as (lines, _):
        pass
    with banner_of("--host", "0.0.0.0", "--known-keys") as (known, _):
        pass

    assert lines[0].endswith(", listening on all addresses")
    assert [line for line in lines if "0.0.0.0" in line] == []
    (line,) = [line for line in lines if "more:" in line]
    command, asked, *_ = shlex.split(line.partition("more: ")[2])
    assert asked == "keys"
    assert Path(command).resolve() == Path(sys.executable).with_name("sandbox").resolve()
    (said,) = [line for line in lines if line.startswith(OF_THIS_SERVER)]
    assert "--known-keys" in said
    assert banner_keys(lines)
    assert set(banner_keys(lines).values()).isdisjoint(served.facts["keys"].values())
    assert banner_keys(known).items() <= served.facts["keys"].items()


def enter_a_removed_folder() -> None:
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    Path(folder).rmdir()


def test_a_server_starts_in_a_folder_that_was_removed(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with closing(Process(["serve", "--port", "0"], before=enter_a_removed_folder)) as process:
        assert "Ctrl-C stops it.\n" in process.stdout


def test_a_world_without_keys_can_be_served_and_the_end_names_the_store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    about = {"cast": "admin", "type": "admin", "name": "Admin", "description": "Alone"}
    admin = about | {"created_at": "2025-01-06T09:00:00.000Z"}
    Path("keyless.json").write_text(json.dumps({"accounts": {"1": admin}}), encoding="utf-8")

    with banner_of("--fixture", "keyless.json", "--store", "s.json") as (lines, process):
        url = re.findall(r"http://\S+?:\d+", lines[0])[0]
        statuses = [httpx2.get(f"{url}/v5/apikeys", timeout=10).status_code for _ in range(2)]
        _, out, _ = process.stop(signal.SIGINT)

    assert (lines[-1], statuses) == ("Ctrl-C stops it.", [401, 401])
    assert out.splitlines()[-1] == "stopped; 2 requests, kept in s.json (JSON)"
    Path("gone").mkdir()
    with banner_of("--store", "gone/s.json") as (_, process):
        shutil.rmtree("gone")
        status, out, _ = process.stop()
    assert (status, "not all of it kept in s.json (JSON)" in out) == (1, True)
