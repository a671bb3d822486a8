"""The table meta of `state.db`: the program that wrote it, its format, a secret, and tokens."""

import sqlite3
from typing import Final
from zlib import crc32

from sandbox import __version__
from sandbox.store.files.migrations import Migrations, UnknownFormat, check_format
from sandbox.store.files.port import FORMAT, read_secret
from sandbox.store.files.sqlite_tables import PUT_META

PROGRAM: Final = "uat-sandbox"


class Head:
    """The table meta of one file. A new secret and new tokens are written with the next commit."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._secret = self._new_secret = b""
        self._tokens = ""
        self._new_tokens: str | None = None

    def look(self, migrations: Migrations) -> int | None:
        """The format of the file, one that can be read; None where the file is new.

        Raises UnknownFormat and sqlite3.Error.
        """
        execute = self._database.execute
        tables = {name for (name,) in execute("SELECT name FROM sqlite_master")}
        if not tables:
            return None
        if "meta" not in tables:
            raise UnknownFormat(f"it is a database that {PROGRAM} has not made")
        meta = dict(execute("SELECT name, value FROM meta"))
        if meta.get("program") != PROGRAM:
            raise UnknownFormat(f"its table meta does not say that {PROGRAM} has made it")
        version = meta.get("format", "")
        found = check_format(int(version) if version.isdecimal() else version, FORMAT, migrations)
        self._secret = _read(meta.get("secret"))
        self._tokens = meta.get("tokens", "")
        return found

    def sign(self) -> None:
        """Write the program's name and the format into the file. Raises sqlite3.Error."""
        rows = {"program": PROGRAM, "format": str(FORMAT), "version": __version__}
        self._database.executemany(PUT_META, rows.items())

    @property
    def secret(self) -> bytes:
        """The secret of the server; empty if there is none."""
        return self._new_secret or self._secret

    def keep(self, secret: bytes) -> None:
        """Have the next commit write this secret."""
        self._new_secret = secret

    @property
    def tokens(self) -> str:
        """The tokens of teams; empty if there are none."""
        return self._tokens if self._new_tokens is None else self._new_tokens

    def keep_tokens(self, tokens: str) -> None:
        """Have the next commit write these tokens."""
        self._new_tokens = tokens

    def put(self) -> None:
        """Write what is new. Called within a transaction. Raises sqlite3.Error."""
        if self._new_secret:
            self._database.execute(PUT_META, ("secret", _with_sum(self._new_secret)))
        if self._new_tokens is not None:
            self._database.execute(PUT_META, ("tokens", self._new_tokens))

    def committed(self) -> None:
        """The transaction was committed."""
        self._secret, self._new_secret = self.secret, b""
        self._tokens, self._new_tokens = self.tokens, None


def _with_sum(secret: bytes) -> str:
    """A secret as the file has it: a letter that changed there must not change keys."""
    return f"{secret.hex()}-{crc32(secret):08x}"


def _read(text: str | None) -> bytes:
    """The secret in the file, checked by its checksum. Raises UnknownFormat."""
    try:
        secret = read_secret(None if text is None else text.partition("-")[0])
    except ValueError:
        secret = b""
    if text is not None and text != _with_sum(secret):
        raise UnknownFormat("the secret of the server in its table meta is damaged")
    return secret
