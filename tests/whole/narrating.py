"""Running a document: one shell for all its commands, one folder for all its files.

The folder looks like a checkout in which `make run` was called once: `.venv/bin/sandbox` is there
(the wheel, installed), and so are `scenarios/` and `fixtures/`. Ports 8080, 8081 and 9000 are free
ones that are taken for them, in what stands in the blocks and where the command has them as a
default.

One server runs at a time, as at a reader's desk: a line with `sandbox serve` takes the place of the
server before it. What only ends when it is interrupted is, once it has said something.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import threading
from pathlib import Path

from tests.whole.blocks import STAND_INS, Block
from tests.whole.installing import ROOT, clean_environment, free_port

BLOCK_S = 180
"""How long a block may take, in seconds."""

SHELL = """
set -euo pipefail
curl() { command curl --fail-with-body --silent --show-error "$@"; }

quit_server() {
    if [ -s "$STATE/server" ]; then
        local server; server=$(cat "$STATE/server")
        rm "$STATE/server"
        kill "$server" 2>/dev/null || true
        while kill -0 "$server" 2>/dev/null; do sleep 0.02; done
    fi
}

serving() {
    quit_server
    # Here, since the command opens it when it gets to it: until then the last one would be read.
    : >"$STATE/log"
    "$@" >"$STATE/log" 2>&1 &
    echo $! >"$STATE/server"
    until grep -Eq '^Ctrl-C|"started"' "$STATE/log"; do
        if ! kill -0 $! 2>/dev/null; then cat "$STATE/log"; exit 1; fi
        sleep 0.02
    done
}

briefly() {
    : >"$STATE/said"
    "$@" >"$STATE/said" 2>&1 &
    local runs=$! code=0 more=20
    # A little longer than until it says something: that may be why it ends.
    until [ $more = 0 ] || ! kill -0 $runs 2>/dev/null; do
        sleep 0.02
        if [ -s "$STATE/said" ]; then more=$((more - 1)); fi
    done
    kill $runs 2>/dev/null || true
    wait $runs || code=$?
    cat "$STATE/said"
    [ $code = 0 ] || [ $code = 143 ] || exit $code
}
"""
LISTEN = """
while IFS= read -r block; do
    source "$block" >"$block.said" 2>&1 </dev/null
    echo done
done
"""

COMMAND = """#!/bin/sh
: "${{SANDBOX_PORT=$PORT_8080}}" "${{SANDBOX_URL=http://127.0.0.1:$PORT_8080}}"
export SANDBOX_PORT SANDBOX_URL
exec {bin}/sandbox "$@"
"""
"""`sandbox`, with another port where it has 8080 as a default."""

_SERVE = re.compile(
    r"^(?P<before>(?:\w+=\S+ )*)(?P<command>\S*sandbox serve\b(?:.*\\\n)*.*?)(?P<after> *&)?$",
    re.MULTILINE,
)
_ENDLESS = re.compile(
    r"^(?P<command>\S*sandbox (?:listen|tail)\b(?!.*--(?:no-follow|print-secret))(?:.*\\\n)*.*)$",
    re.MULTILINE,
)


class Failed(Exception):
    """A block did not do what it says; the message is what it said."""


class Narrative:
    """Where the blocks of one document run, one after the other."""

    def __init__(self, folder: Path, bin: Path, *wheels: Path) -> None:
        self.folder = folder / "checkout"
        self._state = folder / "state"
        self._bin = bin
        self._ports = {port: str(free_port()) for port in ("8080", "8081", "9000")}
        self._set_up()
        self.environment = clean_environment() | {
            "PATH": f"{self.folder / '.venv' / 'bin'}:{bin}:{os.environ['PATH']}",
            "PORT_8080": self._ports["8080"],
            "STATE": str(self._state),
            "WHEELS": " ".join(map(str, wheels)),
            "PYTHONUNBUFFERED": "1",
        }
        self._shell: subprocess.Popen[str] | None = None
        self._count = 0

    def _set_up(self) -> None:
        commands = self.folder / ".venv" / "bin"
        commands.mkdir(parents=True)
        self._state.mkdir()
        for name in ("scenarios", "fixtures"):
            shutil.copytree(ROOT / name, self.folder / name)
        for name in ("python", "pip", "pytest"):
            (commands / name).write_text(f'#!/bin/sh\nexec "{self._bin / name}" "$@"\n')
        (commands / "sandbox").write_text(COMMAND.format(bin=self._bin))
        for path in commands.iterdir():
            path.chmod(0o755)

    # --- what is done with a text -------------------------------------------------------------

    def here(self, text: str) -> str:
        """The text with the ports of this narrative."""
        text = re.sub(r"\b808[01]\b", lambda found: self._ports[found[0]], text)
        where = r"(?<=127\.0\.0\.1:)|(?<=localhost:)|(?<=sandbox listen )"
        return re.sub(rf"(?:{where})9000\b", self._ports["9000"], text)

    def write(self, block: Block, name: str) -> Path:
        """The block as a file of the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.here(block.text), encoding="utf-8")
        return path

    def shell(self, text: str) -> str:
        """What commands print that succeed, in the document's own shell. Raises Failed."""
        self._count += 1
        script = self._state / f"{self._count}.sh"
        script.write_text(self._as_run(text), encoding="utf-8")
        shell = self._shell = self._shell or self._begin()
        watchdog = threading.Timer(BLOCK_S, shell.kill)
        watchdog.start()
        print(script, file=shell.stdin, flush=True)
        replied = shell.stdout.readline()  # type: ignore[union-attr]
        watchdog.cancel()
        said = Path(f"{script}.said").read_text(encoding="utf-8", errors="replace")
        if not replied:
            raise Failed(f"{said}\n(ended with {shell.wait()}, or not after {BLOCK_S} s)")
        return said

    def step(self, text: str) -> str:
        """What commands print that succeed, in a shell of their own. Raises Failed."""
        return self.run("bash", "-c", SHELL + self._as_run(text))

    def run(self, *command: str | Path) -> str:
        """What a command prints that succeeds. Raises Failed."""
        # Into a file: what goes on in the background would hold a pipe open.
        said = self._state / "step"
        with said.open("wb") as out:
            done = subprocess.run(
                [str(part) for part in command],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=BLOCK_S,
                check=False,
            )
        text = said.read_text(encoding="utf-8", errors="replace")
        if done.returncode:
            raise Failed(f"{text}\n(ended with {done.returncode})")
        return text

    def _as_run(self, text: str) -> str:
        for row in STAND_INS:
            instead = row.instead.replace("\\", r"\\")
            text = re.sub(rf"^{row.pattern}$", instead, text, flags=re.MULTILINE)
        text = _SERVE.sub(_served, text)
        return self.here(_ENDLESS.sub(r"briefly \g<command>", text))

    # --- the shell ----------------------------------------------------------------------------

    def _begin(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            ["bash", "-c", SHELL + LISTEN],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def close(self) -> None:
        """End the server, and whatever else still runs."""
        self.step("quit_server")
        if self._shell is not None:
            with self._shell as shell, contextlib.suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)


def _served(found: "re.Match[str]") -> str:
    if found["after"]:
        line = found["before"] + found["command"]
        return f'quit_server\n{line} &\necho $! >"$STATE/server"'
    return f"serving env {found['before']}{found['command']}"
