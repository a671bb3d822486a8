"""The token of the control API at the command line, and who is taken for loopback."""

import subprocess
from pathlib import Path

import pytest

from tests.cli.asking import ask, assert_refused, banner_of, offered, refuse, told
from tests.driving import serving

TOKEN = "open-sesame-open-sesame"
OTHER = "another-one-another-one"
BEARER = {"authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with the token, as `openssl rand -hex 16 > token` leaves it."""
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n", encoding="utf-8")
    return path


# --- a server ---------------------------------------------------------------------------------


def test_a_token_option_wins_over_a_variable_and_guards_the_control_api(file, monkeypatch):
    monkeypatch.setenv("SANDBOX_TOKEN", OTHER)
    with serving("--token-file", str(file)) as server:
        answers = [server.control("GET", "/worlds", headers=one) for one in ({}, BEARER)]

    assert [one.status_code for one in answers] == [401, 200]


@pytest.mark.proves("assumed D25-token")
def test_an_empty_token_variable_counts_as_none(monkeypatch):
    monkeypatch.setenv("SANDBOX_TOKEN", "")
    monkeypatch.setenv("SANDBOX_TOKEN_FILE", "")

    with serving() as on_loopback, serving("--host", "0.0.0.0") as elsewhere:
        facts = [on_loopback.facts, elsewhere.facts]

    assert [one["needs_token"] for one in facts] == [False, True]
    assert facts[0]["token"] is None
    assert len(facts[1]["token"]) >= 32


REFUSED = {
    ("--token", ""): ["--token", "is empty", "--token-file"],
    ("--token", "fifteen-letters"): ["--token", "only 15 characters", "at least 16"],
    ("--token", TOKEN, "--token-file", "x"): ["--token and --token-file: give one"],
    ("--token-file", "nowhere"): ["--token-file", "nowhere: cannot be read: No such file"],
    ("--token-file", "/"): ["--token-file", "/", "cannot be read"],
    ("--token-file", "/dev/null"): ["--token-file", "/dev/null", "is empty"],
    ("--token-file", "/dev/zero"): ["--token-file", "/dev/zero", "only the token"],
    ("--allow-host", "http://a.example"): ["--allow-host", "http://a.example", "not a host name"],
}
NO_TOKENS = {
    b" \n\n": "is empty",
    b"one\ntwo\n": "more than one line",
    b"x" * 5_000: "more than one line",
}


def test_unusable_settings_are_refused_before_anything_is_served(file):
    for arguments, words in REFUSED.items():
        assert_refused(refuse(*arguments), 2, *words)
    two = ask("serve", SANDBOX_TOKEN=TOKEN, SANDBOX_TOKEN_FILE=str(file))
    assert_refused(two, 2, "SANDBOX_TOKEN and SANDBOX_TOKEN_FILE")
    for content, why in NO_TOKENS.items():
        file.write_bytes(content)
        assert_refused(refuse("--token-file", str(file)), 2, str(file), why)


# --- what is said of it -------------------------------------------------------------------------


@pytest.mark.proves("assumed D25-token")
def test_a_given_token_is_never_printed_and_pasted_lines_read_the_environment(file):
    with serving("--log-requests", "--token-file", str(file)) as server:
        server.process.terminate()
        assert TOKEN not in f"{server.facts}{server.process.communicate(timeout=10)}"
    with banner_of("--log-requests", "--token", TOKEN) as (lines, process):
        done = paste(f"export SANDBOX_TOKEN={TOKEN}", lines)
        process.terminate()
        said = "\n".join((*lines, *process.communicate(timeout=10)))

    assert TOKEN not in said
    assert "needs the token that you gave" in said
    assert b'"total":0' in done


def paste(export: str, lines: list[str]) -> bytes:
    """What the line for the control API prints in a shell that has done this export."""
    (line,) = [line for line in lines if line.strip().startswith("curl ") and "Bearer" in line]
    command = ["bash", "-c", f"{export}; {line}"]
    return subprocess.run(command, capture_output=True, timeout=10, check=True).stdout


@pytest.mark.proves("assumed D25-token")
def test_a_token_that_was_made_up_is_printed_to_paste_and_to_sign_in_with_and_nowhere_else():
    with banner_of("--host", "0.0.0.0") as (lines, _):
        (export,) = [line.strip() for line in lines if "SANDBOX_TOKEN=" in line]
        done = paste(export, lines[lines.index(f"  {export}") :])

    token = export.partition("=")[2]
    assert sum(token in line for line in lines) == "\n".join(lines).count(token) == 2
    assert any(line.endswith(f"/_sandbox/#token={token}") for line in lines)
    assert b'"total":0' in done


# --- commands that ask a server -----------------------------------------------------------------


def test_commands_take_the_token_from_a_file_a_variable_or_an_option(file):
    with serving("--token", TOKEN) as server:
        told("keys", "--token-file", str(file), server=server)
        told("keys", server=server, SANDBOX_TOKEN_FILE=str(file))
        told("keys", server=server, SANDBOX_TOKEN=TOKEN)
        told("keys", "--token", TOKEN, server=server)
        told("keys", "--token-file", str(file), server=server, SANDBOX_TOKEN=OTHER)
        wrong = ask("keys", "--token", OTHER, server=server, SANDBOX_TOKEN_FILE=str(file))
        at = {"SANDBOX_URL": server.url, "SANDBOX_TOKEN_FILE": str(file)}
        assert offered("sandbox world show de", **at) == ["default"]
        missing = ask("keys", server=server)
        unreadable = ask("keys", "--token-file", "nowhere", server=server)

    assert_refused(wrong, 1, "SANDBOX_TOKEN", "--token-file")
    assert_refused(missing, 1, "SANDBOX_TOKEN", "--token-file")
    assert_refused(unreadable, 2, "--token-file", "nowhere")


# --- who counts as loopback -----------------------------------------------------------------------


def test_a_server_on_loopback_needs_no_token():
    for host in ("127.1", "0x7f000001", "::1"):
        with serving("--host", host, "--control-port", "0") as server:
            assert server.facts["needs_token"] is False, host
            assert server.control("GET", "/worlds").status_code == 200, host
