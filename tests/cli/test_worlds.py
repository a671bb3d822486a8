"""`sandbox world new`, `list`, `show`, `reset` and `delete`."""

import io
import json
import os
import pty
import shlex
import sys
from functools import partial

import pytest

from tests.cli.asking import add_world, pay, told
from tests.driving import serving
from tests.processes import Process

STORY = """
name = "All declined"

[[rule]]
when = { operation = "sale" }
then = { outcome = "insufficient_funds" }

[[example]]
send = { operation = "sale" }
expect = { status = "declined" }
"""


def test_a_new_world_is_as_the_options_say_and_has_a_request_to_paste(served, tmp_path):
    story = tmp_path / "mine.toml"
    story.write_text(STORY, encoding="utf-8")

    shown = told(
        *("world", "new", "--id", "cli-new", "--name", "Mine", "--seed", "7"),
        *("--clock", "2026-03-01T12:00:00Z", "--scenario", str(story)),
        *("--switch", "batch.settlement=manual", "--switch", "strict_headers=true"),
        *("--reading", "delete_answers=resource"),
        *("--invent", "merchants=2,terminals_per_merchant=1"),
        server=served,
    )

    world = served.control("GET", "/worlds/cli-new").json()
    switches = served.control("GET", "/worlds/cli-new/switches").json()
    assert shown.startswith(
        "world cli-new (Mine): fixture demo, seed 7, scenario All declined, "
        "reading missing_headers=refused, reading delete_answers=resource, "
        "clock frozen at 2026-03-01T12:00:00.000Z\n"
    )
    assert (switches["batch.settlement"], switches["strict_headers"]) == ("manual", True)
    words = shlex.split(shown.splitlines()[-1])
    assert words[:3] == ["curl", "-s", f"{served.url}/v3/payment"]
    assert words[4] == f"x-service-apikey: {world['keys']['merchant']['key']}"
    paid = pay(served, world, **json.loads(words[6]))
    assert paid["status"] == "declined"


def test_a_new_world_needs_no_options(served):
    made = json.loads(told("world", "new", "--json", server=served))

    assert made == served.control("GET", f"/worlds/{made['id']}").json() | {"clock": made["clock"]}
    assert made["clock"]["mode"] == "running"


def test_a_world_without_a_merchant_has_another_first_request(served):
    shown = told("world", "new", "--fixture", "empty", "--clock", "running", server=served)

    assert "/v5/apikeys -H" in shown.splitlines()[-1]


def test_the_first_request_is_for_the_platform_as_it_is_served(tmp_path):
    profile = tmp_path / "mine.toml"
    profile.write_text('api_key_header = "X-Acme-Token"', encoding="utf-8")

    with serving("--control-port", "0", "--profile", str(profile)) as server:
        shown = told("world", "new", SANDBOX_URL=server.facts["control_url"])

    assert f"curl -s {server.url}/v3/payment -H 'X-Acme-Token: svc_" in shown


def test_the_worlds_of_a_server_are_listed(served):
    add_world(served, "cli-listed", name="Mine")

    lines = told("world", "list", server=served).splitlines()

    assert lines[0].split() == ["id", "name", "seed", "fixture", "scenario", "clock"]
    (mine,) = [line for line in lines if line.startswith("cli-listed ")]
    assert mine.split() == [
        *("cli-listed", "Mine", "1", "demo", "-", "2026-03-01T12:00:00.000Z", "frozen")
    ]
    listed = json.loads(told("world", "list", "--json", server=served))
    assert "default" in [world["id"] for world in listed["worlds"]]


@pytest.mark.parametrize(
    "named", [["cli-shown"], ["--world", "cli-shown"]], ids=["argument", "option"]
)
def test_a_world_is_shown_whole(served, named):
    served.control("DELETE", "/worlds/cli-shown")
    world = add_world(served, "cli-shown")

    shown = told("world", "show", *named, server=served)

    for cast in ("accounts", "terminals", "locations"):
        assert all(id in shown for id in world[cast].values())
    assert all(key["key"] in shown for key in world["keys"].values())
    assert json.loads(told("world", "show", *named, "--json", server=served)) == world


def test_a_world_is_reset_with_the_same_keys(served):
    world = add_world(served, "cli-reset")
    paid = pay(served, world)

    shown = told("world", "reset", "cli-reset", server=served)

    key = world["keys"]["merchant"]["key"]
    path = f"/v1/transactions/{paid['transaction_id']}"
    assert shown == "cli-reset is as it began, with fixture demo\n"
    assert served.ask("GET", path, key=key).status_code == 404


def test_a_world_is_deleted(served):
    add_world(served, "cli-deleted")

    shown = told("world", "delete", "cli-deleted", "--yes", server=served)

    assert shown == "cli-deleted is deleted\n"
    assert served.control("GET", "/worlds/cli-deleted").status_code == 404


def sit_at(terminal: str) -> None:
    """Have this process read from a terminal."""
    os.dup2(os.open(terminal, os.O_RDWR | os.O_NOCTTY), 0)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(b"y\n", 0), (b"n\n", 1), (b"\x04", 130)],
    ids=["yes", "no", "end of input"],
)
def test_on_a_terminal_it_asks_first(served, answer, expected):
    id = f"cli-asked-{expected}"
    add_world(served, id)
    person, terminal = pty.openpty()
    os.write(person, answer)

    process = Process(
        ["world", "delete", id, "--url", served.url], before=partial(sit_at, os.ttyname(terminal))
    )
    _, err = process.communicate(timeout=20)
    code = process.wait()
    process.close()
    os.close(person)
    os.close(terminal)

    assert f"Delete the world {id} with all its data?" in err
    assert code == expected
    status = served.control("GET", f"/worlds/{id}").status_code
    assert status == (404 if expected == 0 else 200)


# --- saving -----------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="modes of files are those of POSIX")
@pytest.mark.parametrize("mode", [None, 0o644, 0o666, 0o400])
def test_a_saved_world_is_its_owners_alone_whatever_was_there_before(served, tmp_path, mode):
    """It holds the secrets of endpoints, and keys that can be read again."""
    file = tmp_path / "friday.json"
    if mode is not None:
        file.write_text("{}", encoding="utf-8")
        file.chmod(mode)

    told("world", "save", str(file), server=served)

    assert file.stat().st_mode & 0o777 == 0o600
    assert json.loads(file.read_bytes())["file"]["1"]["program"] == "uat-sandbox"
