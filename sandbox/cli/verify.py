"""`sandbox verify`: asks a real UAT which readings of the spec hold there."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sandbox.cli.exit_status import EXIT_REFUSED, EXIT_UNUSABLE, refuse
from sandbox.cli.tables import json_option, say, show_json

if TYPE_CHECKING:
    from sandbox.domain.profile import Profile


@click.command()
@click.argument("base", metavar="URL")
@click.option(
    "--key-env",
    default="UAT_KEY",
    show_default=True,
    metavar="NAME",
    help="Environment variable with an API key of UAT. A key that may only read is enough.",
)
@click.option(
    "--key-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File with the key and nothing else.",
)
@click.option(
    "--profile",
    "profile_file",
    type=click.Path(path_type=Path),
    help="TOML file with the platform's names, as for `sandbox serve`.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default="verified",
    show_default=True,
    metavar="FOLDER",
    help="Folder for the results.",
)
@click.option("--plan", "is_plan", is_flag=True, help="Print all requests, and send none.")
@json_option
def verify(
    *,
    base: str,
    key_env: str,
    key_file: Path | None,
    profile_file: Path | None,
    out: Path,
    is_plan: bool,
    as_json: bool,
) -> None:
    """Ask the UAT at URL which readings of the spec hold there.

    Sends requests that only read, two a second at most, and compares the answers with the readings
    that the sandbox has. FOLDER gets uat.toml, a profile for `sandbox serve --profile`;
    uat-switches.json, the switches to set; differences.md and differences.json; and
    evidence.jsonl, the answers without their data. Production keys are refused.

    A platform that answers 429 twice to one request, or fails three times, ends the run. What was
    learnt so far is written.

    The exit status is 0 without a difference, 1 with differences, and 2 if the run could not start
    or ended early.

    \b
    Examples:
      sandbox verify https://uat.example.com --plan
      sandbox verify https://uat.example.com --profile my-platform.toml --key-file uat.key
    """
    from sandbox.domain.profile import Profile
    from sandbox.settings import SettingsError, read_profile
    from sandbox.verify.sending import Unusable, check_base

    try:
        profile = read_profile(profile_file) if profile_file else Profile()
        base = check_base(base)
    except (SettingsError, Unusable) as error:
        refuse(str(error))
    if is_plan:
        _plan(base, as_json=as_json)
        return
    key = _key(key_env, key_file, profile)
    if out.exists() and not out.is_dir():
        refuse(f"--out {out}: is no folder")
    import time

    from sandbox.verify.asking import ask, write
    from sandbox.verify.running import Pace

    result, files = ask(base, key, profile, Pace(time.monotonic, time.sleep))
    try:
        write(out, files)
    except OSError as error:
        refuse(f"--out {out}: cannot be written: {error.strerror}")
    _print(result, out, as_json=as_json)


def _print(result: dict[str, Any], out: Path, *, as_json: bool) -> None:
    """Print the result, and exit with its status."""
    from sandbox.verify.report import lines

    if as_json:
        show_json(result)
    else:
        for line in lines(result):
            say(line)
        say(f"the results are in {out}")
    if result["stopped"]:
        refuse(f"the run ended early: {result['stopped']}", EXIT_UNUSABLE)
    differs = any(one["verdict"] == "other reading" for one in result["probes"])
    sys.exit(EXIT_REFUSED if differs else 0)


def _plan(base: str, *, as_json: bool) -> None:
    from sandbox.verify.probes import looking
    from sandbox.verify.report import plan

    probes = looking()
    if not as_json:
        for line in plan(probes, base):
            say(line)
        return
    requests = [
        {"probe": probe.id, "method": "GET", "path": one.path, "query": dict(one.query)}
        for probe in probes
        for one in probe.requests
    ]
    show_json({"base": base, "requests": requests})


def _key(name: str, file: Path | None, profile: "Profile") -> str:
    """The key from the file or the variable. Ends the command without one that can be used."""
    from sandbox.verify.sending import Unusable, check_key

    where = f"--key-file {file}" if file else f"the variable {name[:80]}"
    if file is not None:
        try:
            key = file.read_text(encoding="utf-8")
        except (OSError, ValueError):
            refuse(f"{where}: cannot be read")
    else:
        key = os.environ.get(name, "")
    if not key.strip():
        refuse(
            f"{where} has no key; put an API key of UAT there, or use --plan to see the requests"
        )
    try:
        return check_key(key, profile)
    except Unusable as error:
        refuse(f"{where}: the key cannot be used: {error}")
