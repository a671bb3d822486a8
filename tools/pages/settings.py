"""The options of `sandbox serve`, with their environment variables."""

from collections.abc import Iterator

import click

from sandbox.cli.serve import serve
from tools.pages.markdown import NONE, code, page, table


def settings() -> str:
    """Each option with its variable, its default and its meaning."""
    return page(
        "Settings of a server",
        "The options of `sandbox serve`. Each has an environment variable, for containers and CI.\n"
        "An option on the command line counts first. A flag is set by `1` or `true`. A variable\n"
        "for an option that may be given several times takes several values with spaces between.",
        table(("option", "variable", "default", "meaning"), _rows()),
    )


def _rows() -> Iterator[tuple[str, str, str, str]]:
    context = click.Context(serve, info_name="serve")
    for option in serve.params:
        if not isinstance(option, click.Option):
            continue
        assert isinstance(option.envvar, str)
        record = option.get_help_record(context)
        assert record is not None
        shown, default = option.opts[0], option.get_default(context)
        has_default = isinstance(default, str | int) and not isinstance(default, bool)
        yield (
            code(shown),
            code(option.envvar),
            code(str(default)) if has_default else NONE,
            option.help or "",
        )
