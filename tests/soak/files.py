"""State files in which something was lost or changed: refused in words, or served without failing.

A file is filled by a server, spoilt as disks, editors and people spoil files, and given to a
server again.
"""

import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import httpx2

from tests.soak.rounds import Round
from tests.soak.served import Refused, Target, look_over_http
from tests.soak.spoiling import spoilt, spoilt_bytes, written
from tests.state.saved_worlds import KINDS

STEPS = 4
BLOCK = 512
SALES = 8


def play(round: Round) -> None:
    """One file, spoilt in several ways."""
    dice = round.dice("files")
    kind = dice.choice(KINDS)
    good = round.folder / f"good.{kind}"
    with round.means.serving(round.folder, "--store", str(good)) as target:
        _fill(target, dice)
    round.counts["requests"] += SALES
    for step in round.steps(STEPS):
        folder = round.folder / str(step)
        folder.mkdir()
        path = folder / f"state.{kind}"
        _spoil(good, path, dice)
        try:
            with round.means.serving(folder, "--store", str(path)) as target:
                for status in look_over_http(target):
                    round.counts["requests"] += 1
                    round.counts[f"{status // 100}xx"] += 1
                _fill(target, dice)
            round.counts["loaded"] += 1
        except Refused:
            round.counts["refused"] += 1


def _fill(target: Target, dice: Random) -> None:
    """Take payments; whether they succeed depends on what is left of the file."""
    key = target.facts["keys"].get("partner", "none")
    terminals = target.facts["terminals"]
    headers = {"x-service-apikey": key}
    with httpx2.Client(base_url=target.facts["url"], headers=headers, timeout=20) as http:
        for _ in range(SALES):
            terminal = dice.choice(sorted(terminals.values()) or ["none"])
            body = {"amount": dice.randint(1, 5_000), "terminal_id": terminal}
            path = dice.choice(["/v3/payment", "/v3/preauth"])
            answer = http.post(path, json=body)
            assert answer.status_code < 500, answer.text


def _spoil(good: Path, path: Path, dice: Random) -> None:
    """A copy with something wrong in it, sometimes with the good copy that servers keep."""
    content = good.read_bytes()
    beside = good.with_name(good.name + ".good")
    if beside.exists() and dice.random() < 0.3:
        shutil.copy(beside, path.with_name(path.name + ".good"))
    path.write_bytes(_spoilt(content, path.suffix, dice))


def _spoilt(content: bytes, suffix: str, dice: Random) -> bytes:
    # Of a database, what a disk loses is found, and not a letter that changed within a text.
    how = dice.randrange(6 if suffix == ".json" else 2)
    if how == 0:
        return content[: dice.randrange(len(content))]
    if how == 1:
        place = dice.randrange(max(1, len(content) - BLOCK))
        return content[:place] + bytes(BLOCK) + content[place + BLOCK :]
    if how == 2:
        document: Any = json.loads(content)
        for _ in range(dice.choice([1, 2, 5])):
            document = spoilt(document, dice)
        return written(document)
    if how == 3:
        return spoilt_bytes(content, dice, times=20)
    if how == 4:
        place = dice.randrange(len(content))
        changed = bytearray(content)
        changed[place] ^= 1 << dice.randrange(8)
        return bytes(changed)
    return spoilt_bytes(content, dice)
