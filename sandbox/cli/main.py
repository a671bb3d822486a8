"""The command `sandbox`, the list of its commands, and the groups of commands."""

import errno
import json
import os
import re
import sys
from collections.abc import Mapping
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final

import click
from click import shell_completion as completion

from sandbox import __version__
from sandbox.cli.output import EXIT_INTERRUPTED, refuse

_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

_SENTENCE_CHARS_MAX: Final = 1_000
"""Longer than the first sentence of any help text, so that none is cut."""


class Group(click.Group):
    """A group whose list of commands is wrapped on a narrow terminal, and never cut."""

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command, which is listed with its first sentence, whole."""
        cmd.short_help = cmd.get_short_help_str(_SENTENCE_CHARS_MAX)
        super().add_command(cmd, name)


class Commands(Group):
    """The group of all commands, most of which are loaded only when they are used.

    `lazy` has the module in this package and the first sentence of each of those, which is empty
    for a hidden one.

    Ctrl-C ends with EXIT_INTERRUPTED, at a question as well. A closed pipe, as by `head`, is not
    a failure. With NO_COLOR in the environment, or on a dumb terminal, there are no colours.
    """

    def __init__(self, *args: Any, lazy: Mapping[str, tuple[str, str]], **more: Any) -> None:
        super().__init__(*args, **more)
        self._modules = {name: module for name, (module, _) in lazy.items()}
        for name, (_, sentence) in lazy.items():
            self.add_command(click.Command(name, short_help=sentence, hidden=not sentence))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name, now loaded, and the rest of them."""
        name, command, rest = super().resolve_command(ctx, args)
        if name in self._modules:
            found = vars(import_module(f"sandbox.cli.{self._modules[name]}")).values()
            loaded = (one for one in found if isinstance(one, click.Command))
            command = next(one for one in loaded if one.name == name)
        return name, command, rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that the arguments name."""
        _prepare_streams()
        if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
            ctx.color = False
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, click.Abort):
            if sys.stderr.isatty():
                # The terminal shows ^C without a new line.
                click.echo(err=True)
            ctx.exit(EXIT_INTERRUPTED)
        except BrokenPipeError:
            _discard_output()
            ctx.exit(0)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                refuse(f"{error.filename}: {error.strerror}")
            if error.errno not in _NO_ROOM:
                raise
            _discard_output()
            refuse(f"the output cannot be written: {error.strerror}")


def _prepare_streams() -> None:
    """Replace streams that are missing, and let standard output take any text."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        # Python has None for a stream that the process was started without.
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    if isinstance(sys.stdout, TextIOWrapper):
        # A terminal, or a file on Windows, may lack a character of a name.
        sys.stdout.reconfigure(errors="backslashreplace")


def _discard_output() -> None:
    """Discard buffered output. Otherwise Python complains at exit that it cannot write it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# --- completion at a shell, where that of click is not enough


@completion.add_completion_class
class _Bash(completion.BashComplete):
    """Completion in bash, which hands over `http://host` and `--world=uat` in several words."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the one to complete, and that."""
        words = os.environ["COMP_WORDS"].split("\n")[1 : int(os.environ["COMP_CWORD"]) + 1]
        joined = re.sub(r"\n([:=]+)(\n|$)", r"\1", "\n".join(words))
        *args, incomplete = (
            " ".join(completion.split_arg_string(word)) for word in joined.split("\n")
        )
        return args, incomplete


class _WholeWords(completion.ShellComplete):
    """Completion in a shell that replaces the word, so for `--world=ua` it needs the option too."""

    def get_completions(
        self, args: list[str], incomplete: str
    ) -> list[completion.CompletionItem[str]]:
        """Return the words that the shell offers."""
        found = super().get_completions(args, incomplete)
        option, equals, _ = incomplete.partition("=")
        if equals and option.startswith("-"):
            for one in found:
                one.value = f"{option}={one.value}"
        return found


@completion.add_completion_class
class _Zsh(_WholeWords, completion.ZshComplete):
    """Completion in zsh."""


@completion.add_completion_class
class _Fish(_WholeWords, completion.FishComplete):
    """Completion in fish, where click cuts values and their descriptions at a comma."""

    source_template = completion.FishComplete.source_template.replace("split ", "split --max 1 ")


COMMANDS_FILE: Final = Path(__file__).with_name("commands.json")
"""Written by `make golden`."""

COMMANDS: Final[Mapping[str, tuple[str, str]]] = json.loads(COMMANDS_FILE.read_text("utf-8"))
"""Each command with its module in this package, and its line in the help, empty for a hidden one.

A command is loaded when it is used, so that `sandbox --help` is quick.
"""


@click.group(
    cls=Commands,
    lazy=COMMANDS,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
)
@click.version_option(__version__, message=f"uat-sandbox {__version__}")
def main() -> None:
    """A card-present payment sandbox on localhost: deterministic, isolated, without credentials."""  # noqa: D401 (the help text)
