"""The command `sandbox`, its subcommands, and the options of `sandbox serve`."""

import gc
import os
import sys
from pathlib import Path
from typing import Any, Final

import click

from sandbox import __version__
from sandbox.cli.exit_status import refuse
from sandbox.cli.group import Commands
from sandbox.cli.known import SOME_SCENARIO
from sandbox.cli.token_options import token_options
from sandbox.cli.variables import LinkableOption, remarks

_LATER: Final = {
    "agenda": "sandbox.cli.agenda:agenda",
    "amounts": "sandbox.cli.catalogues:amounts",
    "batch": "sandbox.cli.batch:batch",
    "capture": "sandbox.cli.actions:capture",
    "cards": "sandbox.cli.catalogues:cards",
    "clock": "sandbox.cli.clock:clock",
    "compare": "sandbox.cli.compare:compare",
    "confirm": "sandbox.cli.actions:confirm",
    "coverage": "sandbox.cli.coverage:coverage",
    "doctor": "sandbox.cli.doctor:doctor",
    "export": "sandbox.cli.export:export",
    "find": "sandbox.cli.look:find",
    "increment": "sandbox.cli.actions:increment",
    "keys": "sandbox.cli.keys:keys",
    "ledger": "sandbox.cli.ledger:ledger",
    "lens": "sandbox.cli.look:lens",
    "listen": "sandbox.cli.listen:listen",
    "next": "sandbox.cli.next:next_outcome",
    "open": "sandbox.cli.open:open_console",
    "outcomes": "sandbox.cli.catalogues:outcomes",
    "pay": "sandbox.cli.pay:pay",
    "readings": "sandbox.cli.readings:readings",
    "refund": "sandbox.cli.actions:refund",
    "resend": "sandbox.cli.resend:resend",
    "reverse": "sandbox.cli.actions:reverse",
    "run": "sandbox.cli.run:run",
    "scenario": "sandbox.cli.scenario:scenario",
    "switch": "sandbox.cli.switch:switch",
    "tail": "sandbox.cli.tail:tail",
    "tap": "sandbox.cli.tap:tap",
    "tip": "sandbox.cli.actions:tip",
    "token": "sandbox.cli.token:token",
    "trigger": "sandbox.cli.trigger:trigger",
    "triggers": "sandbox.cli.catalogues:triggers",
    "verify": "sandbox.cli.verify:verify",
    "world": "sandbox.cli.world:world",
}
"""The commands, each with the module to load when it is used."""


@click.group(
    cls=Commands,
    later=_LATER,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message=f"uat-sandbox {__version__}")
def main() -> None:
    """A card-present payment sandbox on localhost: deterministic, isolated, without credentials."""
    # The modules that were loaded stay, and need not be looked through for garbage.
    gc.freeze()
    gc.enable()
    # Without this, pydantic searches every installed package for plugins.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


class _ClockType(click.ParamType[Any]):
    """`running`, or an instant at which the clock is frozen."""

    name = "running|INSTANT"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The clock setting. Fails for any other text."""
        from sandbox.domain.clock import ClockSetting

        if not isinstance(value, str):
            return value
        if value == "running":
            return ClockSetting()
        from sandbox.control.clock import ClockBody

        try:
            return ClockBody.model_validate({"now": value, "mode": "frozen"}).setting()
        except ValueError:
            self.fail(f"{value!r} is neither 'running' nor an instant like 2026-07-01T00:00:00Z")


class _InventType(click.ParamType[Any]):
    """How much data to generate: `merchants=200,terminals_per_merchant=2`."""

    name = "merchants=N[,...]"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The numbers. Fails with the mistake and the possible names."""
        from pydantic_core import ValidationError

        from sandbox.control.worlds import InventBody
        from sandbox.settings import mistakes

        if not isinstance(value, str):
            return value
        try:
            counts = {name: int(count) for name, count in (p.split("=") for p in value.split(","))}
            return InventBody.model_validate(counts).generated_data()
        except ValidationError as error:
            self.fail(mistakes(error))
        except ValueError:
            self.fail(f"{value!r}: write it like merchants=200,terminals_per_merchant=2")


_FOR_A_FILE: Final = ("-c", "--conf", "--config", "--config-file", "--settings")


class _ServeCommand(click.Command):
    """A command whose options can all be given by environment variables, as containers need it.

    There is no file of settings, and who asks for one is told so.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        for option in self.params:
            if isinstance(option, click.Option) and option.envvar is None:
                option.envvar = "SANDBOX_" + option.opts[0].lstrip("-").replace("-", "_").upper()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The rest of the arguments."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name not in _FOR_A_FILE:
                raise
            raise click.UsageError(
                f"there is no {error.option_name}: the sandbox has no file of settings. Each "
                "option has an environment variable, like SANDBOX_PORT for --port",
                ctx,
            ) from None


@main.command(cls=_ServeCommand)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    cls=LinkableOption,
    type=click.IntRange(0, 65535),
    default=8080,
    show_default=True,
    help="Port of the platform; 0 picks a free one.",
)
@click.option(
    "--control-port",
    cls=LinkableOption,
    type=click.IntRange(0, 65535),
    help="Serve the control API (/_sandbox) on this port only.",
)
@click.option(
    "--fixture",
    default="demo",
    show_default=True,
    help="Fixture of the world 'default': a name under fixtures/, or a file.",
)
@click.option(
    "--invent",
    "generated_data",
    type=_InventType(),
    help="Generate merchants beside the fixture's: merchants=200,terminals_per_merchant=2.",
)
@click.option(
    "--scenario",
    type=SOME_SCENARIO,
    help="Scenario that runs in 'default': a name or title of the library, or a file.",
)
@click.option("--watch", is_flag=True, help="Read the scenario file again whenever it changes.")
@click.option(
    "--seed",
    type=click.IntRange(-(2**63), 2**63 - 1),
    default=1,
    show_default=True,
    help="Seed for ids; the default for worlds created without one.",
)
@click.option(
    "--clock",
    type=_ClockType(),
    default="running",
    show_default=True,
    help="Clock of 'default': running, or frozen at an instant.",
)
@click.option(
    "--profile",
    type=click.Path(path_type=Path),
    help="TOML file with the real platform's names for headers, prefixes and fields.",
)
@click.option(
    "--store",
    metavar="FILE|URL",
    help="Keep all worlds in this file, and continue from it: state.json to read and edit, "
    "state.db for more than a thousand documents. With a URL like postgresql://user@host/name, "
    "several servers share the worlds of that database.",
)
@click.option(
    "--advertise",
    metavar="URL",
    help="URL at which the other servers of a postgresql:// store reach this one. Default: "
    "--host and --port.",
)
@click.option(
    "--name",
    "server_name",
    metavar="NAME",
    help="Name of this server among those of a postgresql:// store, for people and load balancers.",
)
@token_options
@click.option(
    "--allow-host",
    "allow_hosts",
    multiple=True,
    envvar="SANDBOX_ALLOW_HOST",
    metavar="NAME",
    help="Answer for this host name of a tunnel or proxy too, if the server has no token. May be "
    "given several times; SANDBOX_ALLOW_HOST takes several names separated by spaces.",
)
@click.option(
    "--shared",
    is_flag=True,
    envvar="SANDBOX_SHARED",
    help="Others can reach this server through a proxy or tunnel: ask for a token, and send no "
    "webhooks to internal addresses, even on loopback.",
)
@click.option(
    "--known-keys",
    is_flag=True,
    envvar="SANDBOX_KNOWN_KEYS",
    help="Give new worlds the documented API keys even if --host is not loopback. Otherwise such "
    "a server has keys of its own.",
)
@click.option(
    "--tls",
    is_flag=True,
    help="Serve HTTPS with a certificate of an authority of this machine, for phones. The control "
    "API serves the authority's certificate at /_sandbox/ca.pem.",
)
@click.option(
    "--tls-cert",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Serve HTTPS with this certificate (PEM).",
)
@click.option(
    "--tls-key",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Key of --tls-cert, if that file does not hold it.",
)
@click.option(
    "--tls-folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder of the authority for --tls. Default: uat-sandbox/tls in your data folder.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Format of the log.",
)
@click.option(
    "--log-requests/--no-log-requests",
    default=None,
    envvar="SANDBOX_LOG_REQUESTS",
    help="Log each request (env SANDBOX_LOG_REQUESTS). Default: if standard error is a terminal.",
)
@click.option(
    "--no-explain-headers", is_flag=True, help="Leave x-sandbox-* headers out of all answers."
)
@click.option(
    "--worlds-max",
    type=click.IntRange(1),
    default=1_000,
    show_default=True,
    help="Maximum number of worlds.",
)
@click.option(
    "--worlds-per-team-max",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Maximum number of worlds of a team, see `sandbox token`.",
)
@click.option(
    "--worlds-unused-after-s",
    type=click.FloatRange(1),
    help="Drop a world that was not used for this many seconds. Default: a day; never with "
    "--store.",
)
@click.option(
    "--journal-entries-max",
    type=click.IntRange(1),
    default=1_000,
    show_default=True,
    help="Number of requests that each world's journal keeps.",
)
@click.option(
    "--body-bytes-max",
    type=click.IntRange(1, 64 * 1_048_576),
    default=65_536,
    show_default=True,
    help="Largest body of a request to the platform, in bytes.",
)
@click.option(
    "--connections-max",
    type=click.IntRange(1),
    envvar="SANDBOX_CONNECTIONS_MAX",
    help="Maximum number of connections (env SANDBOX_CONNECTIONS_MAX). Default: no limit.",
)
@click.option(
    "--webhook",
    "webhooks",
    multiple=True,
    metavar="URL",
    help="Send the webhooks of 'default' to this URL. May be given several times. The control API "
    "shows the secret: GET /_sandbox/worlds/default/endpoints.",
)
@click.option(
    "--webhooks-to",
    multiple=True,
    metavar="HOST|NETWORK",
    help="Send webhooks to this internal host or network even if the server is not on loopback. "
    "May be given several times.",
)
@click.option(
    "--webhooks-ca",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Trust receivers with a certificate of this file (PEM), such as a self-signed one.",
)
def serve(
    *,
    profile: Path | None,
    no_explain_headers: bool,
    worlds_max: int,
    worlds_per_team_max: int,
    worlds_unused_after_s: float | None,
    journal_entries_max: int,
    log_requests: bool | None,
    store: str | None,
    **options: Any,
) -> None:
    """Serve the platform and the control API until interrupted.

    Each option has an environment variable: SANDBOX_PORT for --port, SANDBOX_LOG_FORMAT for
    --log-format. An option on the command line counts first.

    \b
    Examples:
      sandbox serve
      sandbox serve --port 0 --seed 7 --clock 2026-07-01T09:00:00Z
      sandbox serve --control-port 8081 --profile my-platform.toml
      sandbox serve --scenario my-story.toml --watch
    """
    # There is no garbage before the server runs; the server enables this again.
    gc.disable()
    # Imported here so `sandbox --help` starts fast.
    from sandbox.domain.profile import Profile
    from sandbox.scenarios.loading import ScenarioError
    from sandbox.server.run import serve as run
    from sandbox.settings import Settings, SettingsError, is_database, read_profile
    from sandbox.store.files.port import StoreError
    from sandbox.store.fixture import FixtureError
    from sandbox.worlds.limits import Limits

    limits = Limits(
        worlds_max=worlds_max,
        worlds_per_team_max=worlds_per_team_max,
        unused_after_s=worlds_unused_after_s,
        journal_entries_max=journal_entries_max,
    )
    try:
        run(
            Settings(
                profile=read_profile(profile) if profile else Profile(),
                explain_headers=not no_explain_headers,
                limits=limits,
                database=store if is_database(store) else None,
                store=None if store is None or is_database(store) else Path(store),
                log_requests=sys.stderr.isatty() if log_requests is None else log_requests,
                **options,
            ),
            tuple(remarks(os.environ, serve.params)),
        )
    except (SettingsError, FixtureError, ScenarioError, StoreError) as error:
        refuse(str(error))
    finally:
        gc.enable()
