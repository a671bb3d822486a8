"""The authorities that the kit trusts, the same as the sandbox's commands."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from uat_sandbox.errors import SandboxError

if TYPE_CHECKING:
    import ssl


def trusting_context() -> "ssl.SSLContext":
    """Return a context that trusts the usual authorities, and the sandbox's own on this machine.

    `SANDBOX_CA` names the file of another one. Raises SandboxError if it cannot be read.
    """
    import ssl

    context = ssl.create_default_context()
    named = os.environ.get("SANDBOX_CA")
    file = Path(named) if named else _own_folder() / "ca.pem"
    if named or file.is_file():
        try:
            context.load_verify_locations(file)
        except (OSError, ssl.SSLError) as error:
            raise SandboxError(
                f"{file}: cannot be read as a certificate: {error}; SANDBOX_CA can name another"
            ) from None
    return context


def _own_folder() -> Path:
    named = os.environ.get("SANDBOX_TLS_FOLDER")
    if named:
        return Path(named)
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "uat-sandbox" / "tls"
