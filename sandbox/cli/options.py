"""Options that several commands have: the token, a profile, and those of commands that serve."""

from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from sandbox.cli.choices import SOME_SCENARIO
from sandbox.cli.output import refuse, refusing
from sandbox.domain.profile import Profile
from sandbox.settings import SettingsError, read_profile
from sandbox.tokens import TokenError, read_token

FILE: Final = click.Path(path_type=Path)

fixture_option = click.option(
    "--fixture",
    default="demo",
    help="Fixture of the world 'default': a name under fixtures/, or a file.",
)
scenario_option = click.option(
    "--scenario",
    type=SOME_SCENARIO,
    help="Scenario that runs in 'default': a name or title of the library, or a file.",
)
SEED: Final = click.IntRange(-(2**63), 2**63 - 1)
seed_option = click.option(
    "--seed", type=SEED, default=1, help="Seed for ids; the default for worlds created without one."
)


def _read_profile(ctx: click.Context, param: click.Parameter, file: Path | None) -> Profile:
    with refusing(SettingsError):
        return read_profile(file) if file else Profile()


profile_option = partial(click.option, "--profile", type=FILE, callback=_read_profile)
"""The option for a file with a profile, which the command gets read."""


def token_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--token` and `--token-file`; the command gets the token that they name, or None."""

    @wraps(command)
    def with_token(
        *arguments: Any, token: str | None, token_file: Path | None, **options: Any
    ) -> Any:
        return command(*arguments, token=_chosen_token(token, token_file), **options)

    with_file = click.option(
        "--token-file",
        type=FILE,
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
        source = click.get_current_context().get_parameter_source
        is_option = [
            source(name) is ParameterSource.COMMANDLINE for name in ("token", "token_file")
        ]
        if all(is_option):
            refuse("--token and --token-file: give one of them")
        if not any(is_option):
            refuse("SANDBOX_TOKEN and SANDBOX_TOKEN_FILE: set one of them")
        if is_option[0]:
            return token
    if file is None:
        return token
    with refusing(TokenError, before="--token-file: "):
        return read_token(file)
