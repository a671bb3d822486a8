"""TLS of a server, with a given or a generated certificate, and of its clients."""

import os
import socket
import ssl
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CA_FILE: Final = "ca.pem"
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_DISCARD_PORT: Final = 9


class CertificateError(ValueError):
    """A certificate cannot be created or read; the message has the reason and the remedy."""


@dataclass(frozen=True, slots=True)
class Tls:
    """The TLS of a server; `ca` is the certificate of its authority as PEM, if it has one."""

    context: ssl.SSLContext
    ca: bytes | None


def default_folder() -> Path:
    """Return the folder of the authority.

    `SANDBOX_TLS_FOLDER` names it; otherwise it is in the user's data folder. Raises
    CertificateError for a user without a home.
    """
    named = os.environ.get("SANDBOX_TLS_FOLDER")
    if named:
        return Path(named)
    data = os.environ.get("XDG_DATA_HOME")
    try:
        return (Path(data) if data else Path.home() / ".local" / "share") / "uat-sandbox" / "tls"
    except RuntimeError:
        raise CertificateError(
            "this user has no home for the sandbox's own authority; name a folder for it with "
            "SANDBOX_TLS_FOLDER"
        ) from None


def is_known_to_clients(folder: Path | None) -> bool:
    """Whether clients on this machine look for the authority in the folder of a server."""
    return folder is None or str(folder) == os.environ.get("SANDBOX_TLS_FOLDER")


def trusting_context() -> ssl.SSLContext:
    """Return a context that trusts the usual authorities and the sandbox's own on this machine.

    `SANDBOX_CA` names the file of another one. Raises CertificateError if it cannot be read.
    """
    context = ssl.create_default_context()
    named = os.environ.get("SANDBOX_CA")
    file = Path(named) if named else default_folder() / CA_FILE
    if named or file.is_file():
        try:
            context.load_verify_locations(file)
        except (OSError, ssl.SSLError) as error:
            raise CertificateError(
                f"{file}: cannot be read as a certificate: {error}; SANDBOX_CA can name another"
            ) from None
    return context


def load(certificate: Path, key: Path | None) -> Tls:
    """Return TLS with the user's certificate and key. Raises CertificateError."""
    context = _server_context()
    try:
        context.load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise CertificateError(
            f"--tls-cert {certificate}: cannot be used with its key: {reason}; both are PEM files, "
            "and --tls-key names the key if the certificate's file does not contain it"
        ) from None
    return Tls(context, None)


def own(folder: Path, hosts: Iterable[str]) -> Tls:
    """Return TLS with a new certificate for these hosts, signed by the authority in the folder.

    The authority is created on first use. Raises CertificateError.
    """
    try:
        from sandbox.server import authority  # noqa: PLC0415 - needs an optional package
    except ImportError:
        raise CertificateError(
            "--tls: making a certificate needs the package cryptography; install it beside the "
            "sandbox with `pip install cryptography`, or give a certificate with --tls-cert"
        ) from None
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        chain, ca = authority.issue_chain(folder, folder / CA_FILE, _names([*_LOOPBACK, *hosts]))
    except ValueError as error:
        raise CertificateError(str(error)) from None
    except OSError as error:
        raise CertificateError(
            f"--tls-folder {folder}: cannot be used: {error.strerror or error}"
        ) from None
    context = _server_context()
    with tempfile.TemporaryDirectory() as moment:
        # `ssl` only reads files. The folder is private, and is removed at once.
        file = Path(moment) / "server.pem"
        file.write_bytes(chain)
        context.load_cert_chain(file)
    return Tls(context, ca)


def _server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def _names(hosts: Iterable[str]) -> list[str]:
    """Return all names and addresses under which this server may be reached."""
    names = [*hosts, socket.gethostname(), f"{socket.gethostname()}.local", _lan_address()]
    return list(dict.fromkeys(name.strip("[]") for name in names if name))


def _lan_address() -> str:
    """Return this machine's address in its network, or an empty text. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", _DISCARD_PORT))
        except OSError:
            return ""
        return str(probe.getsockname()[0])
