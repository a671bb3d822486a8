"""`sandbox compare` and `sandbox verify`: the sandbox against the real platform."""

import os
import re
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from sandbox.cli import output
from sandbox.cli.arguments import FILE, SOME_SCENARIO, TokenCommand, profile_option, settings
from sandbox.cli.scenarios import load_scenario
from sandbox.conformance import clients, replay, verification
from sandbox.conformance.differences import CaptureError, compare_folder
from sandbox.conformance.har import HarError, read_har
from sandbox.conformance.probe_runner import GONE, Cleaner, Pace, RegisterError, read_register
from sandbox.conformance.probe_table import PHASES
from sandbox.domain.field_types import SECRET_PREFIX
from sandbox.domain.profile import Profile
from sandbox.domain.text import did_you_mean
from sandbox.scenarios.parser import ScenarioError
from sandbox.settings import SettingsError
from sandbox.store.fixture import FixtureError
from sandbox.tokens import TokenError, check_characters

_TX_STATES: Final = ("auth", "captured", "timed_out")
_ID: Final = re.compile(r"[A-Za-z0-9-]{1,64}")

_profile = profile_option(help="TOML file with the platform's names, as for `sandbox serve`.")


@click.command(cls=TokenCommand)
@click.argument("file", type=FILE)
@click.option("--fixture", help="Fixture of the world: a name under fixtures/, or a file.")
@click.option("--scenario", type=SOME_SCENARIO, help="Scenario for outcomes of the recording.")
@settings("seed", default=None, help="Seed of the world.")
@_profile
@click.option(
    "--server",
    metavar="URL",
    help="Replay in new worlds of this running sandbox. Default: a sandbox in this process.",
)
def compare(
    *, file: Path, profile: Profile, server: str | None, token: str | None, **world: Any
) -> output.Result:
    """Replay the traffic in FILE, and show where the answers differ.

    FILE is a HAR file, as browsers and proxies export it. Its requests to the platform are sent
    again, in order, to a new world whose clock follows the recording. Ids, keys and times match by
    their role. Each difference is in status, shape or words, and names the readings that would
    explain it.

    Keys that the traffic did not create are replaced by those of the world's cast, so that as few
    answers as possible differ. Keys never appear in the output, and production keys are refused.

    Requests do not show how a processor decided. Name a scenario, of the library or in a file,
    whose rules choose the outcomes that were recorded.

    The exit status is 0 without a difference, 1 with differences, 2 if FILE cannot be used.

    \b
    Examples:
      sandbox compare traffic.har
      sandbox compare traffic.har --profile my-platform.toml --json
      sandbox compare traffic.har --scenario declined.toml
      sandbox compare traffic.har --server http://127.0.0.1:8080
    """
    with output.refusing(TokenError, before="--token: "):
        check_characters(token or "")
    with output.refusing(HarError, clients.TargetError, FixtureError, ScenarioError, SettingsError):
        recording = read_har(file, profile)
        seed, fixture, named = world["seed"], world["fixture"], world["scenario"]
        scenario = named and {"toml": load_scenario(named)[1]}
        target: clients.Target
        if server:
            target = clients.Served(server, token)
        else:
            target = clients.InProcess(profile, fixture or "demo")
        with output.working(f"replaying {file.name}"), target:
            begin = (seed, fixture if server else None, scenario)
            play = replay.Play(target, profile.api_key_header, *begin)
            casting = replay.cast(recording, play)
            found = play.run(recording, casting, replay.AS_IT_IS)
            # The profile of a running server is not known here.
            tried = replay.turns(None if server else profile)
            whole = replay.explain(found, recording, casting, play, tried)
    keys = [entry.key for entry in recording.entries if entry.key]

    def scrub(text: str) -> str:
        for key in keys:
            text = text.replace(key, "***")
        return profile.scrub(text)

    result = replay.document(recording, whole, scrub)
    status = int(bool(result["differences"]))
    return output.Result(result, lambda _: output.say_lines(replay.lines(result)), status)


@click.command(cls=output.ResultCommand)
@click.argument("base", metavar="URL")
@click.option(
    "--key-env",
    default="UAT_KEY",
    metavar="NAME",
    help="Environment variable with an API key of UAT. A read-only key is enough.",
)
@click.option("--key-file", type=FILE, metavar="FILE", help="File with the key and nothing else.")
@_profile
@click.option(
    "--out", type=FILE, default="verified", metavar="FOLDER", help="Folder for the results."
)
@click.option(
    "--allow",
    "allowed",
    default="",
    show_default=False,
    metavar="PHASES",
    help="What may be changed: keys, directory, payments, or several, separated by commas.",
)
@click.option(
    "--account",
    metavar="ID",
    help="The account of the key, which is checked first. Required with --allow.",
)
@click.option(
    "--partner-key-env",
    metavar="NAME",
    help="Environment variable with the key of a partner account, for the phase directory.",
)
@click.option(
    "--tx",
    multiple=True,
    metavar="STATE=ID[,ID]",
    help="Transactions of a device that the phase payments may change, such as auth=ID.",
)
@click.option(
    "--deliveries",
    type=FILE,
    metavar="FOLDER",
    help="Folder with webhooks of the platform, to compare with those of the sandbox.",
)
@click.option(
    "--secret-env",
    metavar="NAME",
    help="Environment variable with the secret that signed the webhooks of --deliveries.",
)
@click.option(
    "--clean",
    metavar="RUN",
    help="Delete what a run left behind, and do nothing else. Its file is in FOLDER.",
)
@click.option("--plan", "is_plan", is_flag=True, help="Print all requests, and send none.")
def verify(
    *, base: str, profile: Profile, out: Path, clean: str | None, is_plan: bool, **given: Any
) -> output.Result:
    """Ask the UAT at URL which readings of the spec hold there.

    Without --allow, requests only read. `--allow keys` creates API keys that expire in an hour,
    `--allow directory` creates a merchant and what belongs to it, and `--allow payments` changes
    the transactions of --tx. A run deletes everything that it created, even if it is interrupted;
    `--clean RUN` deletes what a crash left behind. --plan prints every request.

    At most two requests a second are sent, and 300 in all. If the platform fails three times,
    the run ends and writes the results so far. Production is refused, by key and by host.

    The exit status is 0 without a difference, 1 with differences, and 2 if the run could not start,
    ended early, or left something behind.

    \b
    Examples:
      sandbox verify https://uat.example.com --plan --allow keys --account 7f3c
      sandbox verify https://uat.example.com --profile my-platform.toml --key-file uat.key
    """
    with output.refusing(clients.Unusable):
        base = clients.check_base(base, profile)
    wanted = _parse_wanted(given["allowed"], given["account"], given["tx"], clean)
    if is_plan:
        plan = {"base": base, "run": wanted.run, "requests": verification.requests(wanted)}
        lines = verification.plan_lines(wanted, base)
        return output.Result(plan, lambda _: output.say_lines(lines))
    partner = given["partner_key_env"]
    keys = {
        "own": _key(given["key_env"], given["key_file"], profile),
        "partner": _key(partner, None, profile) if partner else None,
    }
    if "directory" in wanted.allowed and keys["partner"] is None:
        output.refuse(
            "--allow directory: needs a partner's key; name its variable with --partner-key-env"
        )
    if out.exists() and not out.is_dir():
        output.refuse(f"--out {out}: is not a folder")
    # SIGTERM ends a run as Ctrl+C does, so that it deletes what it made.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder, secret = given["deliveries"], given["secret_env"]
    captured = [] if clean else _compared_webhooks(folder, secret, profile)
    with clients.Platform(base, keys["own"] or "", profile) as platform:
        if clean is not None:
            return _clean(clean, platform, out, keys)
        result, files = verification.ask(platform, profile, wanted, Pace(), out, keys, captured)
    return _leave(result, files, out)


def _compared_webhooks(
    folder: Path | None, secret_env: str | None, profile: Profile
) -> list[dict[str, Any]]:
    """Return the webhooks of the folder, compared. Ends the command if they cannot be used."""
    if folder is None:
        if secret_env is not None:
            output.refuse("--secret-env: needs --deliveries")
        return []
    secret = os.environ.get(secret_env) if secret_env else None
    if secret_env and not secret:
        # The secret itself may have been given instead of its variable.
        name, prefix, _ = secret_env.partition(SECRET_PREFIX)
        output.refuse(f"--secret-env: the variable {name}{prefix and '***'} has no secret")
    with output.refusing(CaptureError, before="--deliveries "):
        return compare_folder(folder, profile, secret)


def _parse_wanted(
    allowed: str, account: str | None, tx: tuple[str, ...], clean: str | None
) -> verification.Wanted:
    """Return what the run may do. Ends the command if the options do not fit together."""
    phases, known = _split(allowed), PHASES[1:]
    if wrong := next((name for name in phases if name not in known), None):
        hint = did_you_mean(wrong, known)
        output.refuse(f"--allow: {wrong!r} is not one of {', '.join(known)}{hint}")
    if phases and account is None and clean is None:
        output.refuse("--allow: needs --account ID, the account that the key belongs to")
    if account is not None and not _ID.fullmatch(account):
        output.refuse(f"--account: {account!r} is not an id")
    named = _transactions(tx)
    if named and "payments" not in phases:
        output.refuse("--tx: needs --allow payments")
    if "payments" in phases and not named:
        output.refuse("--allow payments: needs --tx, the transactions that may be changed")
    return verification.Wanted(allowed=phases, account=account, tx=named)


def _split(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]


def _transactions(texts: tuple[str, ...]) -> dict[str, str]:
    """Return the ids by their names in probes: auth, auth2, captured."""
    found: dict[str, str] = {}
    for text in texts:
        state, _, ids = text.partition("=")
        listed = _split(ids)
        if state not in _TX_STATES or not listed:
            output.refuse(f"--tx: {text!r} must be one of {', '.join(_TX_STATES)}, = and ids")
        for id in listed:
            if not _ID.fullmatch(id):
                output.refuse(f"--tx: {id!r} is not an id")
            if id in found.values():
                output.refuse(f"--tx: {id} is named twice")
            number = sum(name.startswith(state) for name in found) + 1
            found[state if number == 1 else f"{state}{number}"] = id
    return found


def _clean(
    run: str, platform: clients.Platform, out: Path, keys: Mapping[str, Any]
) -> output.Result:
    """Delete what a run left behind, and return how much of it is gone."""
    if not _ID.fullmatch(run):
        output.refuse(f"--clean: {run!r} is not the name of a run")
    with output.refusing(RegisterError, before="--clean: "):
        register = read_register(out, run)
    before = register.list_left()
    if any(one.by == "partner" for one in before) and keys["partner"] is None:
        output.refuse(
            "--clean: the run used a partner's key; name its variable with --partner-key-env"
        )
    left = [f"{one.kind} {one.name}" for one in Cleaner(register, platform, Pace(), keys).clean()]
    deleted = len(before) - len(left)
    result = {"run": run, "deleted": deleted, "left": left}
    status, reasons = (output.EXIT_UNUSABLE, [_describe_left(run, left)]) if left else (0, [])
    return output.Result(result, f"{deleted} of {len(before)} deleted", status, reasons)


def _describe_left(run: str, things: list[str]) -> str:
    return f"could not be deleted: {', '.join(things)}; try again later with --clean {run}"


def _leave(result: dict[str, Any], files: Mapping[str, str], out: Path) -> output.Result:
    """Write the files, and return the result with its exit status."""
    with output.using(f"--out {out}", "written"):
        verification.write(out, files)

    def show(_: Any) -> None:
        output.say_lines(verification.lines(result))
        output.say(f"the results are in {out}")

    why = f"the run ended early: {result['stopped']}" if result["stopped"] else ""
    if left := [f"{one['kind']} {one['name']}" for one in result["made"] if one["state"] != GONE]:
        why = _describe_left(result["run"], left)
    if why:
        return output.Result(result, show, output.EXIT_UNUSABLE, [why])
    is_other = any(one["verdict"] == "other reading" for one in result["probes"])
    differs = is_other or any(one["differences"] for one in result["deliveries"])
    return output.Result(result, show, int(differs))


def _key(name: str, file: Path | None, profile: Profile) -> str:
    """Return the key from the file or the variable.

    Ends the command if there is no usable key.
    """
    # The key itself may have been given instead of its variable.
    where = f"--key-file {file}" if file else f"the variable {profile.scrub(name)[:80]}"
    key = output.read_text(file, "--key-file ") if file else os.environ.get(name, "")
    if not key.strip():
        output.refuse(
            f"{where} has no key; put an API key of UAT there, or use --plan to see the requests"
        )
    with output.refusing(clients.Unusable, before=f"{where}: the key cannot be used: "):
        return clients.check_key(key, profile)
