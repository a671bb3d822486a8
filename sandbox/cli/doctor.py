"""`sandbox doctor`: probes a webhook receiver, grades it, and reports what to change."""

import asyncio
import os
import re
import secrets
import shutil
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

import click

from sandbox.cli import output
from sandbox.cli.arguments import FILE, TARGET, NumberRange, events_option, several
from sandbox.doctor.examination import Examination, Finding, Unreachable, examine
from sandbox.doctor.probe import GRADES, STANDINGS, ProbeBuilder, Severity, Way
from sandbox.doctor.probes import GOOD, PROBES
from sandbox.domain.events import EVENTS
from sandbox.domain.field_types import SECRET_PREFIX, check_secret, problem_with
from sandbox.domain.profile import parse_profile
from sandbox.domain.text import did_you_mean
from sandbox.webhooks.signing import KEY_BYTES, write_secret

_WIDTH_MAX: Final = 100
_SECRET: Final = "SANDBOX_WEBHOOK_SECRET"  # noqa: S105 - its place, not its value


@click.command(cls=output.ResultCommand)
@click.argument("url", metavar="URL", type=TARGET, required=False)
@click.option("--secret", help=f"The receiver's secret, whsec_...; better in {_SECRET}.")
@click.option("--secret-file", type=FILE, help="File that holds the secret and nothing else.")
@click.option(
    "--header-prefix",
    default="webhook",
    help="First word of the three header names, as in the server's profile.",
)
@events_option(
    help="Events that the receiver gets, like transaction.sale,'batch.*'. Default: all.",
)
@several("--only", metavar="PROBE", help="Send this probe, after the good one.")
@click.option(
    "--timeout-s",
    type=NumberRange(0, 3_600, min_open=True),
    default=15.0,
    help="Time limit for an answer; the platform allows 15 seconds.",
)
@click.option(
    "--slow-after-ms",
    type=NumberRange(0, min_open=True),
    default=2_000.0,
    help="Time after which an answer counts as slow.",
)
@click.option("--list", "as_list", is_flag=True, help="List the probes, and send nothing.")
def doctor(
    *, url: str | None, header_prefix: str, only: tuple[str, ...], as_list: bool, **given: Any
) -> output.Result:
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
        names = ("name", "sends", "wants", "severity", "weight", "source")
        listed = [{name: getattr(probe, name) for name in names} for probe in PROBES.values()]
        return output.Result(listed, _show_list)
    if url is None:
        raise click.UsageError("Missing argument 'URL'.")
    if problem := problem_with(url):
        output.refuse(f"the URL {problem}; write it like http://127.0.0.1:9000/hook")
    for name in only:
        if name not in PROBES:
            hint = did_you_mean(name, PROBES)
            output.refuse(f"--only: there is no probe {name[:80]!r}{hint}; --list shows all")
    events = tuple(one for one in EVENTS if not given["events"] or one in given["events"])
    try:
        profile = parse_profile({"webhook_header_prefix": header_prefix})
    except ValueError:
        output.refuse(f"--header-prefix: {header_prefix[:80]!r} cannot begin the name of a header")
    secret = _secret(given["secret"], given["secret_file"])

    def scrub(text: str) -> str:
        masked = text.replace(secret.removeprefix(SECRET_PREFIX), "***")
        # A receiver may quote another secret.
        return profile.scrub(re.sub(rf"{SECRET_PREFIX}[\w+/=-]+", f"{SECRET_PREFIX}***", masked))

    builder = ProbeBuilder(secret, header_prefix, events)
    limits = {name: given[name] for name in ("timeout_s", "slow_after_ms")}
    examination = _examine(url, builder, only, scrub=scrub, **limits)
    report = "\n".join(_lines(examination, url))
    status = int(not examination.is_healthy)
    return output.Result(_view(examination, url), lambda _: click.echo(report), status)


def _examine(url: str, builder: ProbeBuilder, only: Collection[str], **how: Any) -> Examination:
    """Return the results of the probes. Ends the command if no receiver answers at the URL."""
    # The good probe is always sent, and without names all are.
    probes = [one for one in PROBES.values() if not only or one.name in only or one is GOOD]
    is_hidden = not sys.stderr.isatty()
    try:
        with click.progressbar(probes, label="probing", file=sys.stderr, hidden=is_hidden) as bar:
            return asyncio.run(examine(url, builder, bar, **how))
    except Unreachable as error:
        advice = "start the receiver, or name the address at which it listens"
        if "certificate" in str(error):
            advice = "to trust a certificate of your own, set SSL_CERT_FILE to a file with it"
        output.refuse(f"{url} {error}; {advice}")


# --- the input --------------------------------------------------------------------------------


def _secret(secret: str | None, file: Path | None) -> str:
    """Return the given secret, or a generated one that is shown.

    Ends the command without either.
    """
    if secret is not None and file is not None:
        output.refuse("--secret and --secret-file: give one of them")
    where, known = "--secret", secret
    if secret is None:
        where, known = _SECRET, os.environ.get(_SECRET)
    if file is not None:
        where = f"--secret-file {file}"
        known = output.read_text(file, "--secret-file ").strip()
    elif not known:
        return _make_secret()
    with output.refusing(ValueError, before=f"{where}: "):
        return check_secret(known or "")


def _make_secret() -> str:
    """Return a new secret, after the user at the terminal has configured the receiver with it."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        advice = f"--secret-file, --secret or {_SECRET}; at a terminal, one is generated"
        output.refuse(f"there is no secret to sign with: give the receiver's with {advice}")
    made = write_secret(secrets.token_bytes(KEY_BYTES))
    click.echo(f"A secret for this examination: {made}", err=True)
    click.echo("Configure your receiver with it, then press Enter. ", err=True, nl=False)
    if not sys.stdin.readline():
        raise click.Abort
    return made


# --- the report -------------------------------------------------------------------------------

_REPLY_CHARS_MAX: Final = 200
"""Characters shown of a receiver's answer."""

_STYLES: Final[dict[Severity | None, dict[str, Any]]] = {
    None: {"fg": "green"},
    **{one: {"fg": "red", "bold": True} for one in (Severity.CRITICAL, Severity.MUST)},
    **{one: {"fg": "yellow"} for one in (Severity.SHOULD, Severity.ADVICE)},
}

_INDENT: Final = " " * 4
_TELLING: Final = (Way.REFUSED, Way.GONE, Way.BROKE)
"""The ways of answering whose body may explain the failure."""


def _lines(examination: Examination, url: str) -> Iterator[str]:
    """Yield the report, line by line."""
    width = min(shutil.get_terminal_size().columns, _WIDTH_MAX)
    findings, failures = examination.findings, examination.failures
    sent = output.count_things(len(findings), "probe")
    yield f"{url}: {sent}, {output.count_things(examination.requests, 'request')}"
    yield ""
    name_width = max(len(one.probe.name) for one in findings)
    for one in findings:
        word = {"passed": "ok", "failed": str(one.severity), "skipped": "-"}[one.verdict]
        style = {"dim": True} if one.is_skipped else _STYLES[one.severity]
        told = one.told
        if one.duration_ms is not None and one.severity is None:
            told = f"{told}, {one.duration_ms:,.0f} ms"
        told = told[: max(20, width - name_width - 14)]
        head = output.styled(f"{word:<8}", **style)
        yield f"  {head}  {one.probe.name:<{name_width}}  {told}".rstrip()
    if failures:
        yield ""
        yield output.styled("What to change, the worst first:", bold=True)
    shown: dict[str | None, str] = {}
    for one in failures:
        name = shown.setdefault(one.advice, one.probe.name)
        advice = one.advice if name == one.probe.name else f"As for {name}."
        said = _reply(one)
        yield ""
        yield f"  {output.styled(one.probe.name, **_STYLES[one.severity])}  {one.severity}"
        quoted = [f"it said: {said}"] if said else []
        for text in (f"{one.probe.sends}: {one.told}", *quoted, advice or ""):
            yield from (_INDENT + line for line in wrap(text, width - 8, break_on_hyphens=False))
        yield output.styled(f"{_INDENT}rule: {one.probe.source}", dim=True)
    yield ""
    if examination.diagnosis:
        yield output.styled(examination.diagnosis, bold=True)
    # A terminal still shows the last line after a long report.
    if examination.grade is None:
        result = f"{len(failures)} failed" if failures else "passed"
        style = _STYLES[Severity.MUST if failures else None]
        yield f"{output.styled(result, **style)}; a grade needs all probes"
    else:
        best = None if examination.grade == GRADES[0][0] else Severity.SHOULD
        style = _STYLES[best if examination.is_healthy else Severity.MUST]
        yield output.styled(f"grade {examination.grade}, {examination.score} of 100", **style)


def _reply(one: Finding) -> str | None:
    """Return the body of the worst answer, if it may explain the failure."""
    is_telling = one.worst is not None and one.worst.way in _TELLING
    return (one.worst.text[:_REPLY_CHARS_MAX] or None) if is_telling and one.worst else None


def _view(examination: Examination, url: str) -> dict[str, Any]:
    """Return the report as JSON."""
    names = ("grade", "score", "requests", "diagnosis")
    return {
        "url": url,
        "ok": examination.is_healthy,
        **{name: getattr(examination, name) for name in names},
        "probes": [_view_finding(one) for one in examination.findings],
    }


def _view_finding(one: Finding) -> dict[str, Any]:
    worst, duration_ms = one.worst, one.duration_ms
    return {
        "name": one.probe.name,
        "verdict": one.verdict,
        "severity": one.severity,
        "way": worst and worst.way,
        "status_code": worst and worst.status_code,
        "told": one.told,
        "said": _reply(one),
        "duration_ms": None if duration_ms is None else round(duration_ms, 1),
        "costs": one.probe.weight * one.costs_percent / 100,
        "advice": one.advice,
        "source": one.probe.source,
    }


def _show_list(_: Any) -> None:
    """Print all probes, and what severities and grades mean."""
    name_width = max(map(len, PROBES))
    for probe in PROBES.values():
        head = f"{probe.name:<{name_width}}  {probe.severity:<8}  {probe.weight:>2}"
        click.echo(f"{head}  {probe.sends}: {probe.wants}")
    click.echo("\nSeverities and grades:")
    for severity, one in STANDINGS.items():
        costs = f"costs {one.costs_percent} % of the weight, score {one.score_max} at most"
        click.echo(f"  {severity:<8}  {one.meaning}; {costs}")
    click.echo("  " + ", ".join(f"{grade} from {least}" for grade, least in GRADES))
