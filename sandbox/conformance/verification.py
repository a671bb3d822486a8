"""A whole run: the probes, the pace, the end of what was made, and the files that it leaves."""

import json
import secrets
import string
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from sandbox.conformance import verification_report as report
from sandbox.conformance.probe_runner import (
    Asker,
    Cleaner,
    Finding,
    Pace,
    Register,
    Sends,
    Stopped,
    register_file,
)
from sandbox.conformance.probes.table import ProbeRequest
from sandbox.conformance.verification_report import Wanted
from sandbox.domain.json_text import fields_of
from sandbox.domain.keys import LOOKUP_CHARS, SECRET_CHARS
from sandbox.domain.profile import Profile

KEY_LIFE: Final = timedelta(hours=1)
_LETTERS: Final = string.ascii_letters + string.digits


def new_run() -> str:
    """Return a name for a run: eight letters and digits."""
    return secrets.token_hex(4)


def ask(
    send: Sends,
    profile: Profile,
    wanted: Wanted,
    pace: Pace,
    folder: Path,
    keys: Mapping[str, str | None],
    deliveries: Sequence[Mapping[str, Any]] = (),
) -> tuple[dict[str, Any], Mapping[str, str]]:
    """Return the differences, and the files by name. No key is in them.

    `deliveries` are those that were compared already; see `verify.deliveries`.

    `keys` are the user's, as `own` and `partner`. What the run makes is noted in `folder` before
    it is made, and deleted before this returns, also if the run is interrupted.
    """
    register = Register(wanted.run, register_file(folder, wanted.run))
    asker = Asker(send, pace, register, _names(profile, wanted, keys))
    done = asker.run
    try:
        if wanted.account is not None:
            asker.own = _own_record(asker, wanted.account, keys["own"] or "")
        for _, probes in wanted.phases():
            asker.ask(probes)
    except Stopped as stopped:
        done.stopped = str(stopped)
    except OSError as error:
        done.stopped = f"{register.file} cannot be written: {error.strerror}"
    except KeyboardInterrupt:
        done.stopped = "it was interrupted"
    finally:
        try:
            Cleaner(register, send, pace, {"partner": keys.get("partner")}).clean()
        except KeyboardInterrupt:
            done.stopped = "it was interrupted while it deleted what it had made"
    # Probes that were not asked, or only in part, cannot tell.
    asked = {finding.probe.id for finding in done.findings}
    missed = [one for _, probes in wanted.phases() for one in probes if one.id not in asked]
    done.findings += [Finding(probe, None, "the run ended before") for probe in missed]
    day = datetime.now(UTC).date().isoformat()
    result = report.document(done, profile, day, register) | {"deliveries": list(deliveries)}
    files = {
        "uat.toml": report.profile_toml(done, profile, day),
        "uat-switches.json": json.dumps(report.switches(done), indent=2) + "\n",
        "differences.md": report.markdown(result),
        "differences.json": json.dumps(result, indent=2) + "\n",
        "evidence.jsonl": report.evidence(done, profile),
    }
    for key in filter(None, keys.values()):
        files = {name: text.replace(key, "***") for name, text in files.items()}
    return result, files


def _own_record(asker: Asker, account: str, key: str) -> Any:
    """Return the record of the key that asks. Raises Stopped if it is not one of the account."""
    request = ProbeRequest(path="/v5/apikeys", query=(("account_id", account),))
    answer = asker.answer(request, "account")
    for one in map(fields_of, answer.body if isinstance(answer.body, list) else []):
        last4 = one.get("key_last4")
        if one.get("account_id") == account and last4 and key.endswith(str(last4)):
            return one
    raise Stopped(
        f"the key is none of account {account} (GET /v5/apikeys answered {answer.status}); "
        "nothing was asked"
    )


def _names(profile: Profile, wanted: Wanted, keys: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the values that fill the holes of steps."""
    now = datetime.now(UTC).replace(tzinfo=None)
    later, ago = (one.isoformat(timespec="seconds") for one in (now + KEY_LIFE, now - KEY_LIFE))
    lookup, secret = (
        "".join(secrets.choice(_LETTERS) for _ in range(length))
        for length in (LOOKUP_CHARS, SECRET_CHARS)
    )
    return {
        "run": wanted.run,
        "account": wanted.account,
        "tx": dict(wanted.tx),
        "partner": keys.get("partner"),
        "in_an_hour": f"{later}Z",
        "in_an_hour_without_offset": later,
        "an_hour_ago": f"{ago}Z",
        "event_id": str(uuid4()),
        "supplied_key_field": profile.supplied_key_field,
        "new_key": f"{profile.key_prefixes.uat}_{lookup}_{secret}",
        "made": {},
    }


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files into the folder, which is made if it is missing. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
