"""The code blocks of the documentation, and what is done about those that cannot run as such."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.whole.installing import ROOT

_FENCED = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE_NAME = re.compile(r"(?:#!.*\n)?(?:#|//) (\w[\w./-]*\.\w+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """What stands between two markers; `line` is that of the first, from 1."""

    document: str
    line: int
    language: str
    text: str

    @cached_property
    def file_name(self) -> str | None:
        """The file that this is, where a comment at its beginning names one."""
        named = _FILE_NAME.match(self.text)
        return named[1] if named else None

    def __str__(self) -> str:
        return f"{self.document}:{self.line} ({self.language})"


def documents() -> list[str]:
    """README, guides and the pages beside them. Reference and design notes hold no examples."""
    docs = ROOT / "docs"
    paths = [ROOT / "README.md", *sorted(docs.glob("*.md")), *sorted(docs.glob("guides/*.md"))]
    return [path.relative_to(ROOT).as_posix() for path in paths]


def blocks_of(document: str) -> list[Block]:
    """The blocks of a document, in order."""
    text = (ROOT / document).read_text(encoding="utf-8")
    return [
        Block(document, text.count("\n", 0, found.start()) + 1, found[1], found[2])
        for found in _FENCED.finditer(text)
    ]


def markers_of(document: str) -> int:
    """How many lines of a document begin or end a block: twice as many as it has blocks."""
    lines = Path(ROOT / document).read_text(encoding="utf-8").splitlines()
    return sum(line.lstrip().startswith("```") for line in lines)


@dataclass(frozen=True)
class StandIn:
    """A command that is not run as it stands; `pattern` fits a whole line."""

    pattern: str
    instead: str
    why: str


STAND_INS = (
    StandIn(r"make run", "sandbox serve", "installing is what CI itself begins with"),
    StandIn(r"make (test|whole)", ":", "this is run by it"),
    StandIn(
        r"(python3 -m venv .* sandbox-venv/bin/sandbox|uvx --from \. uat-sandbox) serve",
        "sandbox --version",
        "test_package.py installs the wheel, and make run serves already",
    ),
    StandIn(r"make dist", "mkdir -p dist && cp $WHEELS dist/", "the wheels are built already"),
    StandIn(
        r"sandbox compare traffic\.har",
        "sandbox compare --help",
        "the recording is the reader's; tests/conformance has recordings",
    ),
    StandIn(
        r"[A-Z_]+=.* sandbox verify .*|sandbox verify .* --clean .*"
        r"|sandbox serve --profile verified/uat\.toml",
        "sandbox verify --help",
        "the platform is the reader's; tests/conformance asks sandboxes",
    ),
    StandIn(
        r"java Payment\.java",
        "if command -v java; then java Payment.java; fi",
        "where there is no JDK, test_generated_clients.py is skipped and says so",
    ),
    StandIn(
        r"( *- run: )?sandbox run (.* )?-- (npm|\./gradlew) test",
        "sandbox run -- sandbox pay 10.00",
        "test_node.py runs it with npm; there is no project for it here",
    ),
    StandIn(
        r"(\w+=\S+ )?docker .*",
        ":",
        "no engine runs where tests run; test_container.py carries out what it would do",
    ),
)


@dataclass(frozen=True)
class Prepared:
    """What a reader has done by then, and no block shows. `fragment` stands in one block only."""

    document: str
    fragment: str
    shell: str
    why: str


RECEIVER = """
python3 -c '
from http.server import BaseHTTPRequestHandler, HTTPServer

class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(204)
        self.end_headers()

host, port = "127.0.0.1:9000".split(":")
HTTPServer((host, int(port)), Receiver).serve_forever()
' &
"""

PREPARED = (
    Prepared(
        "docs/guides/control-api.md",
        'curl -s "$W/payments/$ID/moves',
        """
        W=http://127.0.0.1:8080/_sandbox/worlds/default
        sandbox pay 10
        first="import json, sys; print(json.load(sys.stdin)['payments'][0]['id'])"
        ID=$(curl -s $W/payments | python3 -c "$first")
        """,
        "a payment was taken, and who reads has its id",
    ),
    Prepared(
        "docs/guides/scenarios.md",
        "curl -s $W/taps/$ID",
        """
        W=http://127.0.0.1:8080/_sandbox/worlds/default
        curl -X PUT $W/scenario --json '{"name": "slow_tap"}'
        eval "$(sandbox keys --env)"
        curl http://127.0.0.1:8080/v3/payment -H "x-service-apikey: $SANDBOX_KEY" \\
            --json '{"amount": 1000, "terminal_id": "'$SANDBOX_TERMINAL'"}' &
        first="import json, sys; print(json.load(sys.stdin)['taps'][0]['transaction_id'])"
        until ID=$(curl $W/taps | python3 -c "$first"); do
            sleep 0.1
        done
        """,
        "a payment waits for its card, and who reads has its id",
    ),
    Prepared(
        "docs/guides/command-line.md",
        "$ sandbox listen 9000/hook --events",
        RECEIVER,
        "a receiver runs on this machine",
    ),
    Prepared(
        "docs/guides/command-line.md",
        "$ sandbox tap --card",
        """
        W=http://127.0.0.1:8080/_sandbox/worlds/default
        curl -X PUT $W/scenario --json '{"name": "slow_tap"}'
        curl http://127.0.0.1:8080/v3/payment -H "x-service-apikey: $SANDBOX_KEY" \\
            --json '{"amount": 1000, "terminal_id": "'$SANDBOX_TERMINAL'"}' &
        until curl $W/taps | grep transaction_id; do sleep 0.1; done
        curl -X DELETE $W/scenario
        """,
        "a payment waits for its card, in a scenario that has it wait",
    ),
    Prepared(
        "docs/guides/worlds.md",
        "world convert state.json state.db",
        "quit_server",
        "the server that used the file was stopped",
    ),
    Prepared(
        "docs/guides/worlds.md",
        "world save friday.json",
        "sandbox serve",
        "a server was started again",
    ),
)
