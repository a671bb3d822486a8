"""`sandbox doctor`: probes a webhook receiver, grades it, and reports what to change."""

import asyncio
import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterable
from contextlib import aclosing
from fnmatch import filter as fitting
from pathlib import Path
from time import time
from typing import Any, Final

import click

from sandbox.cli.arguments import FILE, SOME_EVENTS, TARGET
from sandbox.cli.output import EXIT_REFUSED, Result, ResultCommand, read_text, refuse
from sandbox.doctor.examination import Examination, ProbeSender, Unreachable, choose_probes, examine
from sandbox.doctor.probe import ProbeBuilder
from sandbox.doctor.probes import PROBES
from sandbox.doctor.report import Tone, document, lines, row, scale
from sandbox.domain.events import EVENTS
from sandbox.domain.field_types import SECRET_PREFIX, check_secret, problem_with
from sandbox.domain.profile import Profile
from sandbox.domain.text import did_you_mean
from sandbox.webhooks.signing import KEY_BYTES, write_secret

_STYLES: Final[dict[str, dict[str, Any]]] = {
    "good": {"fg": "green"},
    "bad": {"fg": "red", "bold": True},
    "doubtful": {"fg": "yellow"},
    "faint": {"dim": True},
    "strong": {"bold": True},
}
_WIDTH_MAX: Final = 100
_SECRET: Final = "SANDBOX_WEBHOOK_SECRET"  # noqa: S105 - its place, not its value


@click.command(cls=ResultCommand)
@click.argument("url", metavar="URL", type=TARGET, required=False)
@click.option("--secret", help=f"The receiver's secret, whsec_...; better in {_SECRET}.")
@click.option("--secret-file", type=FILE, help="File that holds the secret and nothing else.")
@click.option(
    "--header-prefix",
    default="webhook",
    help="First word of the three header names, as in the server's profile.",
)
@click.option(
    "--events",
    type=SOME_EVENTS,
    metavar="EVENT[,...]",
    help="Events that the receiver gets, like transaction.sale,'batch.*'. Default: all.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="PROBE",
    help="Send this probe, after the good one. May be given several times.",
)
@click.option(
    "--timeout-s",
    type=click.FloatRange(0, 3_600, min_open=True),
    default=15.0,
    help="Time limit for an answer; the platform allows 15 seconds.",
)
@click.option(
    "--slow-after-ms",
    type=click.FloatRange(0, min_open=True),
    default=2_000.0,
    help="Time after which an answer counts as slow.",
)
@click.option("--list", "as_list", is_flag=True, help="List the probes, and send nothing.")
def doctor(
    *,
    url: str | None,
    secret: str | None,
    secret_file: Path | None,
    header_prefix: str,
    events: tuple[str, ...] | None,
    only: tuple[str, ...],
    timeout_s: float,
    slow_after_ms: float,
    as_list: bool,
) -> Result:
    """Test the webhook receiver at URL, and grade it.

    Sends probes to the receiver and reports what to change.
    Some probes are genuine webhooks, which the receiver will process, so use a receiver in a
    test environment. You don't need a running sandbox. URL may be a port of this machine. Without
    a secret, the command generates one; configure the receiver with it.

    The exit status is 0 for grade C or better, 1 if a required probe failed, and 2 if the receiver
    cannot be reached or an option is invalid.

    \b
    Examples:
      SANDBOX_WEBHOOK_SECRET=whsec_... sandbox doctor http://127.0.0.1:9000/hook
      sandbox doctor https://uat.example.com/hook --secret-file secret.txt --json
      sandbox doctor 9000 --only bad-signature --only duplicate
      sandbox doctor --list
    """
    if as_list:
        return Result([row(probe) for probe in PROBES.values()], _show_list)
    if url is None:
        raise click.UsageError("Missing argument 'URL'.")
    _check_url(url)
    _check_names(only)
    known_events = _events(events or ())
    profile = _profile(header_prefix)
    known_secret = _secret(secret, secret_file)
    kit = ProbeBuilder(known_secret, header_prefix, known_events, time)
    examination = _examine(url, kit, only, timeout_s, slow_after_ms)

    def scrub(text: str) -> str:
        masked = text.replace(known_secret.removeprefix(SECRET_PREFIX), "***")
        # A receiver with another secret may say so.
        return profile.scrub(re.sub(rf"{SECRET_PREFIX}[\w+/=-]+", f"{SECRET_PREFIX}***", masked))

    def show(_: Any) -> None:
        width = min(shutil.get_terminal_size().columns, _WIDTH_MAX)
        for line in lines(examination, url, width=width, paint=_paint, scrub=scrub):
            click.echo(line)

    value = document(examination, url, scrub=scrub)
    return Result(value, show, 0 if examination.is_healthy else EXIT_REFUSED)


def _show_list(_: Any) -> None:
    name_width = max(map(len, PROBES))
    for probe in PROBES.values():
        head = f"{probe.name:<{name_width}}  {probe.severity:<8}  {probe.weight:>2}"
        click.echo(f"{head}  {probe.sends}: {probe.wants}")
    click.echo("\nSeverities and grades:")
    for line in scale():
        click.echo(line)


# --- the input --------------------------------------------------------------------------------


def _check_url(url: str) -> None:
    if problem := problem_with(url):
        refuse(f"the URL {problem}; write it like http://127.0.0.1:9000/hook")


def _check_names(only: Iterable[str]) -> None:
    for name in only:
        if name not in PROBES:
            hint = did_you_mean(name, PROBES)
            refuse(f"--only: there is no probe {name[:80]!r}{hint}; --list shows all")


def _events(patterns: Iterable[str]) -> tuple[str, ...]:
    """Return the events that any of the patterns fits, in the order of their table.

    All for none.
    """
    wanted: set[str] = set()
    for pattern in patterns:
        found = fitting(EVENTS, pattern)
        if not found:
            hint = did_you_mean(pattern, EVENTS)
            refuse(f"--events: there is no event {pattern[:80]!r}{hint}")
        wanted.update(found)
    return tuple(event for event in EVENTS if not wanted or event in wanted)


def _profile(header_prefix: str) -> Profile:
    try:
        return Profile(webhook_header_prefix=header_prefix)
    except ValueError:
        refuse(f"--header-prefix: {header_prefix[:80]!r} cannot begin the name of a header")


def _secret(secret: str | None, file: Path | None) -> str:
    """Return the secret that is given, or one that is made and shown.

    Ends the command without either.
    """
    if secret is not None and file is not None:
        refuse("--secret and --secret-file: give one of them")
    given = f"--secret-file {file}" if file else "--secret" if secret is not None else _SECRET
    if file is not None:
        secret = read_text(file, "--secret-file ").strip()
    if secret is None:
        secret = os.environ.get(_SECRET)
    if not secret and file is None:
        return _make_secret()
    try:
        return check_secret(secret or "")
    except ValueError as error:
        refuse(f"{given}: {error}")


def _make_secret() -> str:
    """Return a new secret, after the user at the terminal has configured the receiver with it."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        refuse(
            "there is no secret to sign with: give the receiver's with --secret-file, --secret or "
            f"{_SECRET}; at a terminal one is made"
        )
    made = write_secret(secrets.token_bytes(KEY_BYTES))
    click.echo(f"A secret for this examination: {made}", err=True)
    click.echo("Configure your receiver with it, then press Enter. ", err=True, nl=False)
    if not sys.stdin.readline():
        raise click.Abort
    return made


# --- the probes -------------------------------------------------------------------------------


def _examine(
    url: str, kit: ProbeBuilder, only: tuple[str, ...], timeout_s: float, slow_after_ms: float
) -> Examination:
    """Return the results of the probes. Ends the command if no receiver answers at the URL."""

    async def run() -> Examination:
        async with aclosing(ProbeSender(url, timeout_s=timeout_s)) as sender:
            return await examine(
                sender, kit, probes, slow_after_ms=slow_after_ms, told=lambda: bar.update(1)
            )

    probes = choose_probes(only)
    try:
        with click.progressbar(
            length=len(probes), label="probing", file=sys.stderr, hidden=not sys.stderr.isatty()
        ) as bar:
            return asyncio.run(run())
    except Unreachable as error:
        advice = "start the receiver, or name the address at which it listens"
        if "certificate" in str(error):
            advice = "to trust a certificate of your own, set SSL_CERT_FILE to a file with it"
        refuse(f"{url} {error}; {advice}")


def _paint(text: str, tone: Tone) -> str:
    return click.style(text, **_STYLES[tone])
