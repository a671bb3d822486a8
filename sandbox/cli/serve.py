"""Serving the platform and the control API until interrupted."""

import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import click
from pydantic import ValidationError

from sandbox.cli import arguments, output
from sandbox.control.clock import ClockBody
from sandbox.control.worlds import InventBody
from sandbox.domain.clock import ClockSetting
from sandbox.domain.text import nearest, printable
from sandbox.scenarios.parser import ScenarioError
from sandbox.server import run as server
from sandbox.server.tls import CertificateError
from sandbox.settings import Settings, SettingsError, is_database, mistakes
from sandbox.store.files.port import StoreError
from sandbox.store.fixture import FixtureError
from sandbox.store.world_state import GeneratedData
from sandbox.worlds.spec import Limits

_OF_COMMANDS: Final = {
    f"SANDBOX_{name}"
    for name in (
        *("CA", "COMMAND", "COMPLETE", "CONTROL_URL", "KEY", "PORT_HINT", "RECEIVER_HOST"),
        *("TERMINAL", "TOKEN", "TOKEN_FILE", "URL", "WEBHOOK_SECRET", "WORLD"),
    )
}
"""Variables of other commands, of the Makefile, and of the test kit."""

_OTHERS: Final = re.compile(
    r"SANDBOX_(KEY|ENV)_.*"
    r"|SANDBOX_(.*_)?SERVICE_(HOST|PORT|PORT_.*)"
    r"|SANDBOX_(.*_)?PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?"
)
"""Keys as `sandbox keys --env` names them, and variables that Kubernetes and Docker set in every
container beside a service with the name sandbox or sandbox-NAME."""


def is_link(name: str, value: str | None) -> bool:
    """Whether Kubernetes set the variable for a service, like SANDBOX_PORT=tcp://10.96.0.1:8080."""
    return name.endswith("_PORT") and value is not None and "://" in value


class LinkableOption(click.Option):
    """An option for a port, whose variable may be set for a service of that name."""

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        """Return the value of the variable, None for the address of a service."""
        value = super().resolve_envvar_value(ctx)
        return None if is_link(str(self.envvar), value) else value


def find_unknown_variables() -> Iterator[str]:
    """Yield a sentence about each variable that is ignored."""
    settings = {str(one.envvar) for one in serve.params}
    known = settings | _OF_COMMANDS
    for name, value in sorted(os.environ.items()):
        if is_link(name, value):
            if name in settings:
                shown = printable(value)[:80]
                yield f"{name}={shown} is the address of a service, not a port, and is ignored"
        elif name.startswith("SANDBOX_") and name not in known and not _OTHERS.fullmatch(name):
            words = [one.removeprefix("SANDBOX_") for one in sorted(known)]
            near = nearest(name.removeprefix("SANDBOX_"), words)
            hint = f"; did you mean SANDBOX_{near}?" if near else ""
            yield f"the variable {printable(name)[:80]} is not a known setting of the sandbox{hint}"


def _parse_clock(value: str) -> ClockSetting:
    """Return the setting of the clock: `running`, or an instant at which it is frozen."""
    if value == "running":
        return ClockSetting()
    try:
        return ClockSetting(**vars(ClockBody.model_validate({"now": value, "mode": "frozen"})))
    except ValueError:
        raise ValueError(
            f"{value!r} is neither 'running' nor an instant like 2026-07-01T00:00:00Z"
        ) from None


def _parse_generated_data(value: str) -> GeneratedData:
    """Parse how much data to generate: `merchants=200,terminals_per_merchant=2`."""
    counts = arguments.parse_counts(value)
    try:
        return GeneratedData(**vars(InventBody.model_validate(counts)))
    except ValidationError as error:
        raise ValueError(mistakes(error, InventBody.model_fields)) from None


_FOR_A_FILE: Final = ("-c", "--conf", "--config", "--config-file", "--settings")


class _ServeCommand(arguments.TokenCommand):
    """A command whose options can all be given by environment variables, as containers need it.

    There is no settings file, and an option for one is refused with a hint.
    """

    added: output.Options = ()

    def __init__(self, name: str | None, **named: Any) -> None:
        super().__init__(name, json=False, **named)
        for option in self.params:
            if isinstance(option, click.Option) and option.envvar is None:
                option.envvar = "SANDBOX_" + option.opts[0].lstrip("-").replace("-", "_").upper()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, and return the rest."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name not in _FOR_A_FILE:
                raise
            raise click.UsageError(
                f"there is no {error.option_name}: the sandbox has no settings file. Each "
                "option has an environment variable, like SANDBOX_PORT for --port",
                ctx,
            ) from None


def _limit(name: str, default: int, help: str) -> Callable[[arguments.C], arguments.C]:
    return click.option(name, type=click.IntRange(1), default=default, help=help)


@click.command(cls=_ServeCommand)
@arguments.settings("host")
@arguments.settings("port", "control_port", cls=LinkableOption)
@arguments.settings("fixture")
@arguments.settings(
    "generated_data", type=arguments.ParsedType("merchants=N[,...]", _parse_generated_data)
)
@arguments.settings("scenario", type=arguments.SOME_SCENARIO)
@arguments.settings("watch", "seed")
@arguments.settings(
    "clock", type=arguments.ParsedType("running|INSTANT", _parse_clock), default="running"
)
@arguments.profile_option(
    help="TOML file with the real platform's names for headers, prefixes and fields."
)
@click.option(
    "--store",
    type=click.Path(),
    metavar="FILE|URL",
    help="Keep all worlds in this file, and continue from it: state.json to read and edit, "
    "state.db for more than a thousand documents. With a URL like postgresql://user@host/name, "
    "several servers share the worlds of that database.",
)
@arguments.settings("advertise", "server_name")
@click.option("--token", **arguments.TOKEN)
@click.option("--token-file", **arguments.TOKEN_FILE)
@arguments.settings(
    "allow_hosts", "shared", "known_keys", "tls", "tls_cert", "tls_key", "tls_folder"
)
@arguments.settings("log_format")
@click.option(
    "--log-requests/--no-log-requests",
    default=None,
    help="Log each request (env SANDBOX_LOG_REQUESTS). Default: if standard error is a terminal.",
)
@click.option(
    "--no-explain-headers", is_flag=True, help="Leave x-sandbox-* headers out of all answers."
)
@_limit("--worlds-max", 1_000, "Maximum number of worlds.")
@_limit("--worlds-per-team-max", 100, "Maximum number of worlds of a team, see `sandbox token`.")
@click.option(
    "--worlds-unused-after-s",
    "unused_after_s",
    type=arguments.NumberRange(1),
    help="Drop a world that was not used for this many seconds. Default: a day; never with "
    "--store.",
)
@_limit("--journal-entries-max", 1_000, "Number of requests that each world's journal keeps.")
@arguments.settings("body_bytes_max", "connections_max")
@arguments.settings("webhooks", type=arguments.TARGET)
@arguments.settings("webhooks_to", "webhooks_ca")
def serve(
    *, no_explain_headers: bool, log_requests: bool | None, store: str | None, **options: Any
) -> None:
    """Serve the platform and the control API until interrupted.

    Each option has an environment variable: SANDBOX_PORT for --port, SANDBOX_LOG_FORMAT for
    --log-format. An option on the command line takes precedence.

    \b
    Examples:
      sandbox serve
      sandbox serve --port 0 --seed 7 --clock 2026-07-01T09:00:00Z
      sandbox serve --control-port 8081 --profile my-platform.toml
      sandbox serve --scenario my-story.toml --watch
    """
    limits = Limits(**{field: options.pop(field) for field in Limits.__struct_fields__})
    with output.refusing(SettingsError, CertificateError, FixtureError, ScenarioError, StoreError):
        wanted = Settings(
            explain_headers=not no_explain_headers,
            limits=limits,
            database=store if is_database(store) else None,
            store=None if store is None or is_database(store) else Path(store),
            log_requests=sys.stderr.isatty() if log_requests is None else log_requests,
            **options,
        )
        server.serve(wanted, tuple(find_unknown_variables()))
