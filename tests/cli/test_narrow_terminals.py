"""At a terminal of 80 or 60 columns no name is cut: every help text, and the commands that list."""

import contextlib
import io
import re

import click
import pytest

from sandbox import library
from sandbox.cli.main import main
from sandbox.domain.events import EVENTS
from sandbox.domain.payments.cards import CARDS
from sandbox.domain.payments.outcomes import OUTCOMES, TRIGGERS
from sandbox.domain.switches import SWITCHES
from sandbox.domain.transport_faults import TRANSPORT_FAULTS
from tests.cli.asking import commands, told
from tests.driving import serving

LISTS = {
    "outcomes": [*OUTCOMES, *TRANSPORT_FAULTS],
    "cards": [*CARDS],
    "amounts": [str(row.amount) for row in TRIGGERS.values()],
    "scenario list": [*library.scenarios()],
    "trigger --list": [*EVENTS],
    "switch": [*SWITCHES],
}
"""The commands that list, with the names in each."""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(line: str, columns: int) -> list[str]:
    """What the command prints at a terminal of this width, without colours."""
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(Terminal()) as terminal:
        patch.setenv("COLUMNS", str(columns))
        assert main(line.split(), prog_name="sandbox", standalone_mode=False) in (0, None)
    return click.unstyle(terminal.getvalue()).splitlines()


def test_a_list_has_all_its_names_and_no_line_that_is_too_long(monkeypatch):
    # Worlds of other tests may have names that are longer than a line.
    with serving() as alone:
        monkeypatch.setenv("SANDBOX_URL", alone.url)
        told("pay", "10")
        batch = told("batch", "close").split()[0]
        world = alone.control("GET", "/worlds/default").json()
        kinds = [world[kind] for kind in ("accounts", "terminals", "locations")]
        names = LISTS | {
            "world show": [word for kind in kinds for pair in kind.items() for word in pair],
            "world list": [world["id"]],
            "keys": [word for name, one in world["keys"].items() for word in (name, one["key"])],
            "batch list": [batch, "accepted"],
        }
        for name, expected in names.items():
            for columns in (80, 60):
                lines = shown(name, columns)
                words = {word.rstrip(",") for line in lines for word in line.split()}
                assert [word for word in expected if word not in words] == [], (name, columns)
                assert [line for line in lines if len(line) > columns] == [], (name, columns)


def test_a_help_text_has_all_options_and_no_cut_sentence():
    for words, command in commands().items():
        lines = shown(f"{words} --help", 60)
        options = [option for param in command.params for option in param.opts if "--" in option]
        assert [option for option in options if option not in " ".join(lines)] == [], words
        assert [line for line in lines if re.search(r"[a-z]\.\.\.$", line)] == [], words
    assert {words.split()[0] for words in commands()} <= set(" ".join(shown("--help", 60)).split())
