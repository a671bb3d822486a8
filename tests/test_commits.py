"""The subjects of commits: imperative, short, and about the change."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SINCE = "2026-11-26T17:50:00Z"
CHARS_MAX = 65


@pytest.mark.skipif(
    shutil.which("git") is None or not (ROOT / ".git").exists(), reason="this is no checkout"
)
def test_subjects_of_commits_are_short_and_begin_with_a_capital_verb():
    # The checkout may belong to another user, as in a container.
    command = ["git", "-c", "safe.directory=*", "log", "--no-merges", f"--since={SINCE}"]
    command.append("--format=%h %s")
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    wrong = []
    for line in found.stdout.splitlines():
        _, _, subject = line.partition(" ")
        is_plain = re.fullmatch(r"[A-Z][a-z]+,? [^;]+[^.;]", subject) is not None
        if not is_plain or len(subject) > CHARS_MAX or "wip" in subject.lower():
            wrong.append(line)
    assert wrong == []
