"""The command `sandbox`: help, refusals, and what a server says when it is started by it."""

import json
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner

from sandbox import __version__
from sandbox.cli.main import main
from tests.cli.asking import NO_HOST, assert_unusable, banner_of, refuse, run
from tests.conftest import NOW
from tests.driving import serving


def test_without_a_command_the_help_is_shown():
    done = CliRunner().invoke(main, [])

    assert "serve" in done.output


@pytest.mark.parametrize("name", ["sandbox", "uat-sandbox"])
def test_the_installed_command_is_the_same(name):
    command = Path(sys.executable).with_name(name)

    done = subprocess.run([command, "--version"], capture_output=True, text=True, timeout=20)

    assert done.stdout == f"uat-sandbox {__version__}\n"


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_the_help_of_serve_lists_every_option(flag):
    done = CliRunner().invoke(main, ["serve", flag])

    options = {
        *("--host", "--port", "--control-port", "--fixture", "--scenario", "--seed", "--clock"),
        *("--profile", "--token", "--token-file", "--allow-host", "--log-format"),
        *("--log-requests", "--no-explain-headers"),
        *("--worlds-max", "--worlds-unused-after-s", "--journal-entries-max", "--watch", "--help"),
    }
    listed = {word.strip(",") for word in done.stdout.split() if word.startswith("--")}
    assert done.exit_code == 0
    assert options <= listed


# --- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--clock", "yesterday"], ["--clock", "'yesterday'", "2026-07-01T00:00:00Z"]),
        (["--clock", "2026-02-30T00:00:00Z"], ["--clock", "running"]),
        (["--clock", "1969-12-31T23:59:59Z"], ["--clock", "1969-12-31T23:59:59Z"]),
        (["--profile", "nowhere.toml"], ["nowhere.toml"]),
        (["--port", "65536"], ["--port"]),
        (["--port", "http"], ["--port"]),
        (["--control-port", "-1"], ["--control-port"]),
        (["--seed", "x"], ["--seed"]),
        (["--seed", str(2**63)], ["--seed"]),
        (["--log-format", "xml"], ["--log-format", "text", "json"]),
        (["--worlds-max", "0"], ["--worlds-max"]),
        (["--worlds-unused-after-s", "0"], ["--worlds-unused-after-s"]),
        (["--journal-entries-max", "0"], ["--journal-entries-max"]),
        (["--watch"], ["--watch: there is no file to watch; name one with --scenario"]),
        (["--prot", "0"], ["--prot", "--port"]),
        (["demo"], ["demo"]),
    ],
    ids=lambda value: " ".join(value)[:40],
)
def test_an_option_that_cannot_be_used_is_refused_in_words(arguments, words):
    done = refuse(*arguments)

    assert_unusable(done.exit_code, done.stdout, done.stderr, *words)
    assert isinstance(done.exception, SystemExit)


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("api_key_header = ", ["is not TOML"]),
        ("api_key_headr = 'X-Key'", ["api_key_headr"]),
        ("api_key_header = 5", ["api_key_header"]),
        ("api_key_header = 'not a header'", ["api_key_header"]),
        ("supplied_key_field = 'name'", ["supplied_key_field"]),
        ("[key_prefixes]\nuat = 'svc'", ["key_prefixes", "differ"]),
        ("[key_prefixes]\nuat = 'ends_'", ["key_prefixes", "uat"]),
        ("[errors]\nshape = 'xml'", ["errors.shape", "detail"]),
    ],
)
def test_a_profile_that_cannot_be_used_is_refused_with_file_and_field(tmp_path, toml, words):
    path = tmp_path / "mine.toml"
    path.write_text(toml, encoding="utf-8")

    done = refuse("--profile", str(path))

    assert_unusable(done.exit_code, done.stdout, done.stderr, "mine.toml", *words)
    assert isinstance(done.exception, SystemExit)


@pytest.mark.parametrize("option", ["--config", "--settings", "-c"])
def test_a_missing_settings_file_is_reported(option):
    done = refuse(option, "sandbox.toml")

    assert_unusable(done.exit_code, done.stdout, done.stderr, "no file of settings", "SANDBOX_PORT")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--fixture", "dmeo"], ["'dmeo'", "demo", "empty"]),
        (["--fixture", "nowhere/mine.json"], ["nowhere/mine.json"]),
        (["--fixture", "mine.json"], ["mine.json", "accounts.1.type"]),
        (["--scenario", "aprove_all"], ["'aprove_all'; did you mean 'approve_all'?"]),
        (["--scenario", "declines by reasons"], ["did you mean 'Declines by reason'?"]),
        (["--scenario", "nowhere/mine.toml"], ["nowhere/mine.toml", "cannot be read"]),
        (["--host", NO_HOST], [NO_HOST]),
    ],
    ids=lambda value: " ".join(value)[:40],
)
def test_a_process_that_cannot_serve_says_why_and_ends(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    Path("mine.json").write_text('{"accounts": {"1": {"cast": "admin"}}}', encoding="utf-8")

    done = run("serve", "--port", "0", *arguments)

    assert_unusable(done.returncode, done.stdout, done.stderr, *words)


def test_a_port_that_is_taken_is_refused_with_the_option_to_change():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])

        platform = run("serve", "--port", port)
        control = run("serve", "--port", "0", "--control-port", port)

    assert_unusable(platform.returncode, platform.stdout, platform.stderr, port, "--port")
    assert_unusable(control.returncode, control.stdout, control.stderr, port, "--control-port")


# --- servers ----------------------------------------------------------------------------------

PROFILE = """
name = "mine"
api_key_header = "X-Acme-Token"
supplied_key_field = "own_key"

[key_prefixes]
uat = "acme_test"
production = "acme_prod"
legacy = "acme"

[errors]
shape = "detail"
"""


def test_a_profile_file_renames_the_header_the_keys_and_the_errors(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(PROFILE, encoding="utf-8")

    with serving("--clock", NOW, "--profile", str(path)) as server:
        key = server.key("merchant")
        new = server.ask("GET", "/v5/apikeys", headers={"X-Acme-Token": key})
        old = server.ask("GET", "/v5/apikeys", headers={"x-service-apikey": key})
        elsewhere = server.ask("GET", "/nowhere")

    assert server.facts["api_key_header"] == "X-Acme-Token"
    assert key.startswith("acme_test_demomerchant_")
    assert (new.status_code, old.status_code) == (200, 401)
    assert list(elsewhere.json()) == ["detail"]


def test_a_control_port_takes_the_control_surface_away_from_the_platform():
    with serving("--clock", NOW, "--control-port", "0") as server:
        statuses = [
            server.ask("GET", "/v5/apikeys", key="merchant").status_code,
            server.ask("GET", "/_sandbox/health").status_code,
            server.control("GET", "/health").status_code,
            server.control("GET", "/../v5/apikeys").status_code,
        ]
        url, control_url = server.url, server.facts["control_url"]

    assert statuses == [200, 404, 200, 404]
    assert not control_url.startswith(url)


def test_what_is_said_at_the_start_is_the_world_that_is_served(served):
    world = served.control("GET", "/worlds/default").json()

    assert served.facts["event"] == "started"
    assert served.facts["version"] == __version__
    assert served.facts["token"] is None
    assert (served.facts["fixture"], served.facts["seed"]) == ("demo", 1)
    assert served.facts["clock"] == {"now": NOW, "mode": "frozen", "rate": 1.0}
    assert served.facts["keys"] == {name: one["key"] for name, one in world["keys"].items()}


def test_seed_fixture_and_explanations_are_as_the_options_say():
    with serving("--seed", "7", "--fixture", "empty", "--no-explain-headers") as server:
        answer = server.ask("GET", "/v5/apikeys", key="admin")
        world = server.control("GET", "/worlds/default").json()

    assert (world["seed"], world["fixture"], list(world["keys"])) == (7, "empty", ["admin"])
    assert world["clock"]["mode"] == "running"
    assert [name for name in answer.headers if name.startswith("x-sandbox")] == []


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
        server.process.terminate()
        out, err = server.process.communicate(timeout=10)

    lines = [json.loads(line) for line in (out + err).splitlines()]
    assert len(lines) >= 4
    assert all({"at", "level", "logger", "message"} <= set(line) for line in lines)


def test_under_make_a_taken_port_is_answered_with_the_words_of_make(monkeypatch):
    recipe = Path(__file__).parents[2].joinpath("Makefile").read_text(encoding="utf-8")
    hint = "make run PORT=9000"
    assert f"SANDBOX_PORT_HINT='{hint}'" in recipe
    monkeypatch.setenv("SANDBOX_PORT_HINT", hint)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = refuse("--port", str(taken.getsockname()[1]))

    assert f"choose another with {hint}\n" in done.stderr


# --- the text banner --------------------------------------------------------------------------


def curl(line: str) -> bytes:
    """The answer to a curl line, by curl itself where there is one."""
    words = shlex.split(line)
    if shutil.which("curl"):
        return subprocess.run(words, capture_output=True, timeout=10, check=True).stdout
    headers = [words[at + 1].split(": ", 1) for at, word in enumerate(words) if word == "-H"]
    body = words[words.index("-d") + 1] if "-d" in words else None
    method = "GET" if body is None else "POST"
    return httpx2.request(method, words[2], headers=dict(headers), content=body).content


def test_the_banner_has_lines_to_paste_that_work():
    with banner_of("--clock", NOW) as (lines, process):
        pasted = [json.loads(curl(line)) for line in lines if line.strip().startswith("curl ")]
        (address,) = [line.strip() for line in lines if line.endswith("/docs")]
        page = curl(f"curl -s {address}")
        process.terminate()
        _, err = process.communicate(timeout=10)
        code = process.poll()

    payment, requests = pasted
    assert page.startswith(b"<!doctype html>")
    named = [line.split()[0] for line in lines if "  svc_" in line and "curl" not in line]
    assert f"uat-sandbox {__version__} serves the platform on http://127.0.0.1:" in lines[0]
    assert named == ["merchant", "partner", "psp", "admin"]
    assert [line for line in lines if line.startswith("  and 9 more: ")]
    assert (payment["status"], payment["total_amount"]) == ("captured", 1000)
    paths = [entry["path"] for entry in requests["requests"]]
    assert paths == ["/v3/payment"]
    assert (code, err) in [(0, ""), (-15, "")]


def test_ctrl_c_ends_it_without_a_complaint():
    with banner_of() as (_, process):
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
        code = process.poll()

    assert (code, err) == (0, "")


@pytest.mark.parametrize(
    ("options", "kept"), [([], "nothing kept"), (["--store", "s.json"], "kept in s.json (JSON)")]
)
def test_at_its_end_it_says_what_it_answered_and_what_is_kept(options, kept, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with banner_of(*options) as (lines, process):
        (payment,) = [line for line in lines if "/v3/payment" in line]
        curl(payment)
        curl(payment)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=10)

    assert out.splitlines()[-1] == f"stopped; 2 requests, {kept}"


def test_the_banner_says_that_it_listens_everywhere_and_names_an_address_to_use():
    with banner_of("--host", "0.0.0.0") as (lines, _):
        pass

    assert lines[0].endswith(", listening on all addresses")
    assert [line for line in lines if "0.0.0.0" in line] == []


def test_the_banner_names_the_command_by_its_file_where_the_shell_does_not_find_it(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with banner_of() as (lines, _):
        pass

    (line,) = [line for line in lines if "more:" in line]
    command = line.partition("more: ")[2].removesuffix(" keys")
    assert Path(command).resolve() == Path(sys.executable).with_name("sandbox").resolve()


OF_THIS_SERVER = "These keys belong to this server only"


def banner_keys(lines: list[str]) -> list[str]:
    return [line.split()[-1] for line in lines if "  svc_" in line and "curl" not in line]


def test_the_banner_says_where_keys_are_of_this_server_only():
    with banner_of() as (documented, _), banner_of("--host", "0.0.0.0") as (own, _):
        pass

    assert banner_keys(documented)
    assert set(banner_keys(documented)).isdisjoint(banner_keys(own))
    assert [line for line in documented if line.startswith(OF_THIS_SERVER)] == []
    (said,) = [line for line in own if line.startswith(OF_THIS_SERVER)]
    assert "--known-keys" in said


@pytest.mark.parametrize("options", [["--known-keys"], []])
def test_with_known_keys_the_banner_has_the_documented_ones(
    options: list[str], monkeypatch: pytest.MonkeyPatch
):
    if not options:
        monkeypatch.setenv("SANDBOX_KNOWN_KEYS", "1")
    with banner_of() as (documented, _), banner_of("--host", "0.0.0.0", *options) as (known, _):
        pass

    assert banner_keys(known) == banner_keys(documented)


def test_a_world_without_keys_can_be_served(tmp_path):
    path = tmp_path / "keyless.json"
    admin = {
        "cast": "admin",
        "type": "admin",
        "name": "Admin",
        "description": "Alone",
        "created_at": "2025-01-06T09:00:00.000Z",
    }
    path.write_text(json.dumps({"accounts": {"1": admin}}), encoding="utf-8")

    with banner_of("--fixture", str(path)) as (lines, process):
        running = process.poll() is None

    assert running
    assert lines[-1] == "Ctrl-C stops it."
