"""A whole run: the probes, the pace, and the files that it leaves."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sandbox.domain.profile import Profile
from sandbox.verify import report
from sandbox.verify.probes import looking
from sandbox.verify.running import Pace, run
from sandbox.verify.sending import Platform


def ask(
    base: str, key: str, profile: Profile, pace: Pace
) -> tuple[dict[str, Any], Mapping[str, str]]:
    """The differences, and the files by name. The key is in none of them."""
    with Platform(base, key, profile) as platform:
        done = run(looking(), platform, pace)
    result = report.document(done, profile, datetime.now(UTC).date().isoformat())
    files = {
        "uat.toml": report.profile_toml(done, profile),
        "uat-switches.json": json.dumps(report.switches(done), indent=2) + "\n",
        "differences.md": report.markdown(result),
        "differences.json": json.dumps(result, indent=2) + "\n",
        "evidence.jsonl": report.evidence(done, profile),
    }
    return result, {name: text.replace(key, "***") for name, text in files.items()}


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files into the folder, which is made if it is missing. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
