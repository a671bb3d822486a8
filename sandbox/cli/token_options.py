"""The options for the token of the control API."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from sandbox.cli.output import refuse, refusing
from sandbox.tokens import TokenError, read_token


def token_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--token` and `--token-file`; the command gets the token that they name, or None."""

    @wraps(command)
    def with_token(
        *arguments: Any, token: str | None, token_file: Path | None, **options: Any
    ) -> Any:
        return command(*arguments, token=_chosen_token(token, token_file), **options)

    with_file = click.option(
        "--token-file",
        type=click.Path(path_type=Path),
        envvar="SANDBOX_TOKEN_FILE",
        metavar="FILE",
        help="File with the token and nothing else (env SANDBOX_TOKEN_FILE).",
    )
    with_text = click.option(
        "--token",
        envvar="SANDBOX_TOKEN",
        help="Bearer token of the control API (env SANDBOX_TOKEN). The option shows in the "
        "list of processes: prefer the variable, or --token-file.",
    )
    return with_text(with_file(with_token))


def _chosen_token(token: str | None, file: Path | None) -> str | None:
    """The token: an option counts before a variable. Refuses two of a kind."""
    if token is not None and file is not None:
        context = click.get_current_context()
        is_option = [
            context.get_parameter_source(name) is ParameterSource.COMMANDLINE
            for name in ("token", "token_file")
        ]
        if is_option == [True, True]:
            refuse("--token and --token-file: give one of them")
        if is_option == [False, False]:
            refuse("SANDBOX_TOKEN and SANDBOX_TOKEN_FILE: set one of them")
        if is_option == [True, False]:
            file = None
    if file is None:
        return token
    with refusing(TokenError, before="--token-file: "):
        return read_token(file)
