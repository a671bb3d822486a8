"""What a state file keeps of a server: its worlds, its secret, and the tokens of its teams."""

import logging
import secrets
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path

from sandbox import library
from sandbox.control.identity import Tokens
from sandbox.settings import is_database
from sandbox.store import team_tokens
from sandbox.store.files.port import SECRET_BYTES, StateFile, StoreError
from sandbox.store.fixture import FixtureError
from sandbox.store.saved_world import NotRestored, SavedWorld
from sandbox.worlds.background import Saver
from sandbox.worlds.registry import Worlds
from sandbox.worlds.restore import spec_of
from sandbox.worlds.saver import FileSaver

log = logging.getLogger("sandbox.store")


def saver_of(path: Path) -> FileSaver:
    """The saver of the state file, which is opened and locked. Raises StoreError."""
    return FileSaver(_open(path))


def _open(path: Path) -> StateFile:
    # The kinds of files need TinyDB, SQLite and file locks.
    from sandbox.store.files.file_kinds import open_file

    return open_file(path)


def opened(store: str) -> StateFile:
    """A state file, or the worlds of a database that no server uses. Raises StoreError."""
    if not is_database(store):
        return _open(Path(store))
    must_have_driver()
    from sandbox.store.postgres.idle_database import IdleDatabase

    return IdleDatabase(store)


def shown_name(store: str) -> str:
    """A store in messages, without a password."""
    if not is_database(store):
        return store
    from sandbox.store.postgres.database import name_of

    return name_of(store)


def have_secret(worlds: Worlds, file: StateFile | None) -> None:
    """The secret of new worlds' keys, unless the keys are documented ones.

    A state file stores it; without a file each start makes a new one.
    """
    if worlds.known_keys:
        return
    if not worlds.secret:
        worlds.secret = secrets.token_bytes(SECRET_BYTES)
        if file is not None:
            file.keep_secret(worlds.secret)
    known = ", ".join(sorted(world.id for world in worlds if world.spec.keys_are_known))
    if known:
        log.warning(
            "the API keys of these worlds are known to anybody, because they began on loopback or "
            "with --known-keys: %s; for other keys, name another file with --store",
            known,
        )


def restore_all(worlds: Worlds, file: StateFile, path: Path) -> None:
    """Fill the worlds from the file. Raises StoreError; then nothing was written."""
    loaded = file.load()
    worlds.secret = file.secret
    for id, tables in loaded.items():
        saved = SavedWorld(tables, is_from_file=True, is_trusted=not file.is_for_people)
        try:
            worlds.restore(spec_of(saved, library.fixture_of, id=id), saved)
        except (NotRestored, FixtureError) as error:
            why = f"world {id!r}: {error}"
            from sandbox.store.files.disk import about_good_copy, cannot

            raise cannot(path, "be read", why, about_good_copy(path)) from None
    file.keep_good_copy()


def tokens_of(
    operators: str | None,
    teams: str,
    saver: Saver | None,
    *,
    now: Callable[[], datetime],
) -> Tokens:
    """The token of the operator, and those of teams as they were kept. Raises StoreError."""
    try:
        known = team_tokens.read(teams)
    except ValueError as error:
        assert saver is not None
        raise StoreError(f"{saver.name} cannot be read: {error}") from None
    return Tokens(
        None if operators is None else operators.encode(),
        known,
        keep=(lambda _: None) if saver is None else saver.keep_tokens,
        now=now,
    )


def must_have_driver() -> None:
    """Raises StoreError where the package that speaks with PostgreSQL is not installed."""
    if find_spec("asyncpg") is None:
        raise StoreError(
            "--store: PostgreSQL needs the package asyncpg; install it beside the sandbox with "
            "`pip install asyncpg`"
        )


def renew(tokens: Tokens, teams: str) -> None:
    """Take these tokens of teams, which another server has kept."""
    with suppress(ValueError):
        tokens.renew(team_tokens.read(teams))
