"""`sandbox compare`: replays recorded traffic, and shows where the answers differ."""

import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sandbox.cli.exit_status import EXIT_REFUSED, refuse
from sandbox.cli.progress import working
from sandbox.cli.tables import json_option, say, show_json
from sandbox.cli.token_options import token_options

if TYPE_CHECKING:
    from sandbox.domain.profile import Profile
    from sandbox.traffic.stages import InProcess, Served


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--fixture", help="Fixture of the world: a name under fixtures/, or a file.")
@click.option("--seed", type=click.IntRange(-(2**63), 2**63 - 1), help="Seed of the world.")
@click.option(
    "--profile",
    "profile_file",
    type=click.Path(path_type=Path),
    help="TOML file with the platform's names, as for `sandbox serve`.",
)
@click.option(
    "--server",
    metavar="URL",
    help="Replay in new worlds of this running sandbox. Default: a sandbox in this process.",
)
@token_options
@json_option
def compare(
    *,
    file: Path,
    fixture: str | None,
    seed: int | None,
    profile_file: Path | None,
    server: str | None,
    token: str | None,
    as_json: bool,
) -> None:
    """Replay the traffic in FILE, and show where the answers differ.

    FILE is a HAR file, as browsers and proxies export it. Its requests to the platform are sent
    again, in order, to a new world whose clock follows the recording. Ids, keys and times match by
    their role. Each difference is in status, shape or words, and names the readings that would
    explain it.

    Keys that no answer made are given to members of the world's cast, so that as few answers as
    possible differ. Keys never appear in the output, and production keys are refused.

    The exit status is 0 without a difference, 1 with differences, 2 if FILE cannot be used.

    \b
    Examples:
      sandbox compare traffic.har
      sandbox compare traffic.har --profile my-platform.toml --json
      sandbox compare traffic.har --server http://127.0.0.1:8080
    """
    from sandbox.scenarios.parser import ScenarioError
    from sandbox.settings import SettingsError
    from sandbox.store.fixture import FixtureError
    from sandbox.traffic.har import HarError
    from sandbox.traffic.stages import StageError

    try:
        result = _compared(file, fixture, seed, profile_file, server, token)
    except (HarError, StageError, FixtureError, ScenarioError, SettingsError) as error:
        refuse(str(error))
    if as_json:
        show_json(result)
    else:
        from sandbox.traffic.report import lines

        for line in lines(result):
            say(line)
    sys.exit(EXIT_REFUSED if result["differences"] else 0)


def _compared(
    file: Path,
    fixture: str | None,
    seed: int | None,
    profile_file: Path | None,
    server: str | None,
    token: str | None,
) -> dict[str, Any]:
    from sandbox.domain.profile import Profile
    from sandbox.settings import read_profile
    from sandbox.traffic.casting import cast
    from sandbox.traffic.explaining import explained, turns
    from sandbox.traffic.har import read_har
    from sandbox.traffic.replaying import AS_IT_IS, Play
    from sandbox.traffic.report import document

    profile = read_profile(profile_file) if profile_file else Profile()
    recording = read_har(file, profile)
    with working(f"replaying {file.name}"), _stage(profile, fixture, server, token) as stage:
        play = Play(stage, profile.api_key_header, seed, fixture if server else None)
        casting = cast(recording, play)
        found = play.run(recording, casting, AS_IT_IS)
        tried = turns(
            has_profile=server is None, shape=profile.errors.shape, readings=profile.readings
        )
        whole = explained(found, recording, casting, play, tried)
    keys = [entry.key for entry in recording.entries if entry.key]

    def scrub(text: str) -> str:
        for key in keys:
            text = text.replace(key, "***")
        return profile.scrub(text)

    return document(recording, whole, scrub)


def _stage(
    profile: "Profile", fixture: str | None, server: str | None, token: str | None
) -> "AbstractContextManager[InProcess | Served]":
    from sandbox.traffic.stages import InProcess, Served

    if server is not None:
        return Served(server, token)
    return InProcess(profile, fixture or "demo")
