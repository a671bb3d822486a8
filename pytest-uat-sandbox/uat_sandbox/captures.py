"""The report of a test run: a capture of each world that a failed test used, and a page for them.

Each process of the run writes its captures, and one of them the empty page. At the end of the run
the captures are put into the page, which then needs no server and no other file.
"""

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from uat_sandbox.server import Server

PAGE: Final = "report.html"
SUFFIX: Final = ".capture.json.gz"

_PLACE: Final = "<!-- captures -->"
_NAME_CHARS_MAX: Final = 100
_WHY_CHARS_MAX: Final = 300
_SECRET: Final = re.compile(r"\b(svc|whsec)_[\w+/=-]+")
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_.]+")

Taken = dict[str, str]
"""A capture: its `file`, the `test`, the id of its `world`, and `why` the test failed."""


@dataclass
class Captures:
    """The captures of this process of a test run. `problem` says why one could not be made."""

    folder: Path
    process: str
    taken: list[Taken] = field(default_factory=list)
    problem: str | None = None

    def take(self, server: "Server", test: str, why: str) -> None:
        """Capture the worlds that a failed test used. Problems are noted instead of raised."""
        from uat_sandbox.errors import SandboxError

        try:
            for world, content in server.list_captures():
                self._write(world, content, _without_secrets(test), _without_secrets(why))
            if self.taken and not (page := self.folder / PAGE).exists():
                # Another process may write the same page at this moment.
                aside = self.folder / f".{self.process}{PAGE}"
                aside.write_bytes(server.control.response("GET", f"/{PAGE}").content)
                aside.replace(page)
        except (SandboxError, OSError) as error:
            # The reason why the test failed must not be lost.
            self.problem = str(error)

    def _write(self, world: str, content: bytes, test: str, why: str) -> None:
        name = _NOT_IN_NAMES.sub("-", test.rpartition("/")[2])[:_NAME_CHARS_MAX].strip("-.")
        file = f"{name}-{self.process}{len(self.taken) + 1}{SUFFIX}"
        (self.folder / file).write_bytes(content)
        why = why.strip()[:_WHY_CHARS_MAX]
        self.taken.append({"file": file, "test": test, "world": world, "why": why})


def begin(folder: Path) -> None:
    """Create the folder, and remove the files of an earlier run from it. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in (*folder.glob(f"*{SUFFIX}"), folder / PAGE):
        old.unlink(missing_ok=True)


def write_page(folder: Path, taken: Iterable[Taken]) -> Path:
    """Put the captures into the page. Raises OSError."""
    page = folder / PAGE
    scripts = [_script(folder, one) for one in sorted(taken, key=lambda one: one["file"])]
    before, place, after = page.read_text(encoding="utf-8").rpartition(_PLACE)
    page.write_text(before + "\n".join(scripts) + after if place else after, encoding="utf-8")
    return page


def _script(folder: Path, taken: Taken) -> str:
    """Return a capture as an element of the page."""
    content: dict[str, Any] = json.loads(gzip.decompress((folder / taken["file"]).read_bytes()))
    # Only a sandbox uses them, not the page.
    content.pop("records", None)
    text = json.dumps(content, separators=(",", ":")).encode()
    data = {
        "capture": taken["file"].removesuffix(SUFFIX),
        "test": taken["test"],
        "world": taken["world"],
        "why": taken["why"],
    }
    attributes = " ".join(f'data-{name}="{escape(value)}"' for name, value in data.items())
    zipped = b64encode(gzip.compress(text, mtime=0)).decode()
    return f'<script type="application/gzip" {attributes}>{zipped}</script>'


def _without_secrets(text: str) -> str:
    return _SECRET.sub(r"\1_****", text)
