"""A terminal prints what a server says, and obeys none of it: whoever serves it, whoever asked it.

Every answer here is a real one with something in each text that a terminal would obey.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from click.testing import CliRunner, Result

import sandbox.cli
from sandbox.cli.main import main
from tests.driving import InProcess, fresh
from tests.webhooks.receiving import Answer, Received, receiving

POISON = "\x1b]0;pwned\x07\x1b[2J\x9b1A\u202e\n"
"""A title for the window, an empty screen, the line above again, and a line from right to left."""

OBEYED = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
OURS = re.compile(r"\x1b\[(0|1|2|3[1-6])m")
NAMES_ARE_DATA = ("keys", "accounts", "terminals", "locations", "exercised")


def poisoned(value: Any, within: str = "") -> Any:
    if isinstance(value, dict):
        return {
            name + POISON if within in NAMES_ARE_DATA else name: poisoned(inner, name)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [poisoned(inner) for inner in value]
    return value + POISON if isinstance(value, str) else value


class Hostile:
    """Has a sandbox answer, and poisons the answer. With a `status` it refuses everything."""

    def __init__(self) -> None:
        self.url = ""
        self.sandbox = fresh()
        self.status: int | None = None
        self.shape: str | None = None
        """JSON that it answers everything with."""

    def answer(self, one: Received) -> Answer:
        status, shown = self.status, {"error": "no", "message": "no", "details": "no"}
        if status is None:
            path, _, query = unquote(one.path).replace(POISON, "").partition("?")
            path = path.removeprefix("/hooks")
            answer = self.sandbox.ask(one.method, path, body=one.body or None, query=query)
            status, shown = answer.status, answer.json() if answer.body else None
        content = b"" if shown is None else json.dumps(poisoned(shown)).encode()
        if self.shape is not None:
            status, content = 200, self.shape.encode()
        return Answer(status, {"content-type": "application/json"} if content else {}, content)


@pytest.fixture
def hostile() -> Iterator[Hostile]:
    hostile = Hostile()
    with receiving(hostile.answer) as server:
        hostile.url = server.url
        yield hostile


def fill(sandbox: InProcess) -> None:
    """Something for each list."""
    sandbox.manage("PUT", "/scenario", {"name": "approve_all"})
    sandbox.add_endpoint()
    sandbox.pay(by="merchant")
    sandbox.get("/v1/nowhere", by="merchant", query="x=1")
    sandbox.manage("POST", "/scenario/next", {"outcome": "lost_card"})


COMMANDS = """
agenda | clock | clock advance 30d | clock freeze | coverage | export requests
export requests --as markdown | find merchant | keys | keys --env | keys --name nobody
lens merchant | lens merchant accounts.read merchant | listen 9 --print-secret | next
next lost_crd | open --print | tail --no-follow | tap | tap nothing --cancel user
trigger transaction.sale --timeout-s 0 | world delete --yes | world list | world load -
world new | world new --fixture nonsense | world reset | world show
"""
LINES = [line.strip() for line in re.split(r"[|\n]", COMMANDS.strip())]
SAY_NOTHING_OF_IT = {
    *("open --print", "world delete --yes", "tap", "keys --name nobody", "next lost_crd")
}
SHAPES = [
    *("[]", "{}", "null", "7", '"text"', "not JSON"),
    '{"keys": 1, "worlds": [1], "requests": {}}',
]


def run(server: Hostile, line: str) -> Result:
    """The command as at a terminal, where colors are not left out."""
    return CliRunner(env={"SANDBOX_URL": server.url}).invoke(
        main, line.split(), prog_name="sandbox", color=True, input="{}"
    )


def assert_nothing_to_obey(done: Result) -> None:
    said = OURS.sub("", done.output)
    assert [repr(char) for char in OBEYED.findall(said)] == []
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception


@pytest.mark.proves("assumed D25-plain")
def test_no_command_prints_what_a_terminal_would_obey_whatever_is_answered(hostile):
    for line in LINES:
        hostile.sandbox, hostile.status, hostile.shape = fresh(), None, None
        fill(hostile.sandbox)

        done = run(hostile, line)

        assert_nothing_to_obey(done)
        assert "pwned" in done.output or line in SAY_NOTHING_OF_IT, line
        for hostile.status in (400, 401, 404, 500, 507):
            done = run(hostile, line)
            assert done.exit_code != 0, (line, hostile.status)
            assert_nothing_to_obey(done)
        for hostile.shape in SHAPES:
            done = run(hostile, line)
            assert_nothing_to_obey(done)
            is_told = done.exit_code == 0 or done.output.startswith("sandbox: ")
            assert is_told, (line, hostile.shape)


def test_json_output_equals_the_answer_of_the_server(hostile):
    done = run(hostile, "world show --json")

    assert json.loads(done.stdout)["id"] == "default" + POISON
    assert done.stdout.isascii()


def test_everything_for_people_is_printed_in_one_place():
    """What prints by itself has nothing of a server: a sign of life, and a receiver's doctor."""
    folder = Path(sandbox.cli.__file__).parent
    printing = {
        path.name
        for path in folder.glob("*.py")
        if re.search(r"click\.(echo|secho|style)\(|\bprint\(", path.read_text(encoding="utf-8"))
    }

    assert printing == {"doctor.py", "files.py", "main.py", "output.py", "scenarios.py"}
