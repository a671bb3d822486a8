"""At a terminal of 80 or 60 columns no name is cut: every help text, and the commands that list."""

import contextlib
import os
import pty
import re
import subprocess
import sys
from itertools import pairwise

from sandbox import library
from sandbox.domain.events import EVENTS
from sandbox.domain.payments.cards import CARDS
from sandbox.domain.payments.outcomes import OUTCOMES, TRIGGERS
from sandbox.domain.switches import SWITCHES
from sandbox.domain.transport_faults import TRANSPORT_FAULTS
from tests.cli.asking import commands, told
from tests.driving import serving

MARK = "=== "
RUNS = f"""
import fcntl, struct, sys, termios
from sandbox.cli.main import main

for line in sys.argv[1:]:
    columns, *words = line.split()
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(columns), 0, 0))
    print("{MARK}" + line, flush=True)
    try:
        main(words, prog_name="sandbox")
    except SystemExit as ended:
        assert not ended.code, line
"""

LISTS = {
    "outcomes": [*OUTCOMES, *TRANSPORT_FAULTS],
    "cards": [*CARDS],
    "amounts": [str(row.amount) for row in TRIGGERS.values()],
    "scenario list": [*library.scenarios()],
    "trigger --list": [*EVENTS],
    "switch": [*SWITCHES],
}
"""The commands that list, with the names in each."""


def at_a_terminal(lines: list[str], env: dict[str, str]) -> dict[str, list[str]]:
    """What each command prints at a terminal of the width before it, without colours."""
    master, slave = pty.openpty()
    known = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    process = subprocess.Popen(
        [sys.executable, "-c", RUNS, *lines],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=known | env | {"NO_COLOR": "1", "TERM": "xterm"},
    )
    os.close(slave)
    shown = b""
    # Once the other end is closed, there is nothing more.
    with contextlib.suppress(OSError):
        while piece := os.read(master, 65_536):
            shown += piece
    os.close(master)
    text = shown.decode().replace("\r\n", "\n")
    assert process.wait(20) == 0, text[-2_000:]
    _, *parts = re.split(rf"^{MARK}(.*)\n", text, flags=re.MULTILINE)
    return {name: body.splitlines() for name, body in list(pairwise(parts))[::2]}


def ids_of(world: dict[str, dict[str, str]]) -> list[str]:
    kinds = ("accounts", "terminals", "locations")
    return [word for kind in kinds for pair in world[kind].items() for word in pair]


def test_no_name_is_cut_at_a_terminal():
    # Worlds of other tests may have names that are longer than a line.
    with serving() as alone:
        told("pay", "10", server=alone)
        batch = told("batch", "close", server=alone).split()[0]
        world = alone.control("GET", "/worlds/default").json()
        keys = [word for name, one in world["keys"].items() for word in (name, one["key"])]
        names = LISTS | {
            "world show": ids_of(world),
            "world list": [world["id"]],
            "keys": keys,
            "batch list": [batch, "accepted"],
        }
        helps = [f"{words} --help" for words in ["", *commands()]]
        env = {"SANDBOX_URL": alone.url}
        wide = [f"80 {line}" for line in names]
        shown = at_a_terminal([*wide, *(f"60 {line}" for line in (*names, *helps))], env)

    for name, expected in names.items():
        for columns in (80, 60):
            lines = shown[f"{columns} {name}"]
            words = {word.rstrip(",") for line in lines for word in line.split()}
            assert [word for word in expected if word not in words] == [], (name, columns)
            assert [line for line in lines if len(line) > columns] == [], (name, columns)
    for words, command in commands().items():
        lines = shown[f"60 {words} --help"]
        text = " ".join(lines)
        options = [option for param in command.params for option in param.opts if "--" in option]
        assert [option for option in options if option not in text] == [], words
        assert [line for line in lines if re.search(r"[a-z]\.\.\.$", line)] == [], words
    assert {words.split()[0] for words in commands()} <= set(" ".join(shown["60  --help"]).split())
