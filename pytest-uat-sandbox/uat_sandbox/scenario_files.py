"""Scenarios of tests: names from the library, TOML files, or whole documents."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from uat_sandbox.errors import SandboxError, SandboxRefused

__tracebackhide__ = True

Scenario = str | Path | Mapping[str, Any]


def document_of(which: Scenario) -> str | dict[str, Any]:
    """Return a name unchanged, a file by its text, and any other scenario as a whole document.

    Raises SandboxError for a file that cannot be read.
    """
    file = _file(which)
    if file is None:
        return which if isinstance(which, str) else dict(which)  # type: ignore[arg-type]
    import tomllib

    try:
        text = file.read_text(encoding="utf-8-sig")
        tomllib.loads(text)
    except OSError as error:
        raise SandboxError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SandboxError(f"{file}: is not UTF-8; save it as UTF-8") from None
    except ValueError as error:
        raise SandboxError(f"{file}: {error}") from None
    # The server parses it, because it may have dates, which JSON lacks.
    return {"toml": text}


@contextmanager
def naming(which: Scenario | None) -> Iterator[None]:
    """Put the name of the scenario's file, if it is one, before the message of a refusal."""
    file = None if which is None else _file(which)
    try:
        yield
    except SandboxRefused as error:
        if file is None:
            raise
        raise error.say_about(str(file)) from None


def _file(which: Scenario) -> Path | None:
    if isinstance(which, Path) or (
        isinstance(which, str) and ("/" in which or which.endswith(".toml"))
    ):
        return Path(which)
    return None
