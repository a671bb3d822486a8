"""Certificates for `serve --tls`: an authority of this machine, and a certificate for each start.

A phone that trusts the authority's certificate once trusts every later start of the sandbox. The
private key of the authority never leaves its folder, which only its owner can read. Source:
decision 52.
"""

import os
import socket
import ssl
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

CA_FILE: Final = "ca.pem"
_PAIR_FILE: Final = "ca-key.pem"
_AUTHORITY_LIFE: Final = timedelta(days=3650)
_AUTHORITY_LEFT_MIN: Final = timedelta(days=400)
_SERVER_LIFE: Final = timedelta(days=397)
"""Phones refuse certificates that are valid for longer."""
_SKEW: Final = timedelta(days=1)
"""The clock of a phone may be behind."""
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_DISCARD_PORT: Final = 9


class CertificateError(ValueError):
    """No certificate can be made or read; the message says why and what helps."""


@dataclass(frozen=True, slots=True)
class Tls:
    """The TLS of a server; `ca` is the certificate of its authority as PEM, if it has one."""

    context: ssl.SSLContext
    ca: bytes | None


def default_folder() -> Path:
    """The folder of the authority: `SANDBOX_TLS_FOLDER`, or one of the user's data folder."""
    named = os.environ.get("SANDBOX_TLS_FOLDER")
    if named:
        return Path(named)
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "uat-sandbox" / "tls"


def trusting_context() -> ssl.SSLContext:
    """What a client checks a server with: the usual authorities, and that of this machine.

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
                f"{file}: cannot be read as a certificate: {error}; SANDBOX_CA names the file"
            ) from None
    return context


def given(certificate: Path, key: Path | None) -> Tls:
    """TLS with a certificate and key of the user. Raises CertificateError."""
    context = _server_context()
    try:
        context.load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise CertificateError(
            f"--tls-cert {certificate}: cannot be used with its key: {reason}; both are PEM files, "
            "and --tls-key names the key if the certificate's file does not hold it"
        ) from None
    return Tls(context, None)


def own(folder: Path, hosts: Iterable[str]) -> Tls:
    """TLS with a new certificate for these hosts, of the authority in the folder.

    The authority is made on first use. Raises CertificateError.
    """
    try:
        from filelock import FileLock

        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with FileLock(folder / ".lock"):
            key, certificate = _authority(folder)
    except ImportError:
        raise CertificateError(
            "--tls: making a certificate needs the package cryptography; install it beside the "
            "sandbox with `pip install cryptography`, or give a certificate with --tls-cert"
        ) from None
    except OSError as error:
        raise CertificateError(
            f"--tls-folder {folder}: cannot be used: {error.strerror or error}"
        ) from None
    context = _server_context()
    with tempfile.TemporaryDirectory() as moment:
        # `ssl` reads files only. The folder is the owner's, and gone in a moment.
        chain = Path(moment) / "server.pem"
        _write_secret(chain, _server_chain(key, certificate, _names([*_LOOPBACK, *hosts])))
        context.load_cert_chain(chain)
    return Tls(context, _pem(certificate))


def _server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def _names(hosts: Iterable[str]) -> list[str]:
    """Every name and address under which this server may be reached, each once."""
    names = [*hosts, socket.gethostname(), f"{socket.gethostname()}.local", _lan_address()]
    return list(dict.fromkeys(name.strip("[]") for name in names if name))


def _lan_address() -> str:
    """The address of this machine in its network; empty if it has none. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", _DISCARD_PORT))
        except OSError:
            return ""
        return str(probe.getsockname()[0])


# --- the authority ------------------------------------------------------------------------------


def _authority(folder: Path) -> "tuple[EllipticCurvePrivateKey, x509.Certificate]":
    """The key and certificate of the authority, made anew if there is none or it ends soon."""
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization

    pair = folder / _PAIR_FILE
    if pair.exists():
        content = pair.read_bytes()
        try:
            key: Any = serialization.load_pem_private_key(content, None)
            certificate = x509.load_pem_x509_certificate(content)
        except (ValueError, TypeError) as error:
            raise CertificateError(
                f"{pair}: is no key with its certificate: {error}; remove the folder for a new one"
            ) from None
        if certificate.not_valid_after_utc - datetime.now(UTC) > _AUTHORITY_LEFT_MIN:
            return key, certificate
    return _new_authority(folder)


def _new_authority(folder: Path) -> "tuple[EllipticCurvePrivateKey, x509.Certificate]":
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name(
        [x509.NameAttribute(NameOID.COMMON_NAME, f"uat-sandbox on {socket.gethostname()}"[:64])]
    )
    builder = _builder(name, name, key.public_key(), _AUTHORITY_LIFE)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
    certificate = _signed(builder, key)
    _write_secret(folder / _PAIR_FILE, _key_pem(key) + _pem(certificate))
    (folder / CA_FILE).write_bytes(_pem(certificate))
    return key, certificate


def _server_chain(
    authority_key: "EllipticCurvePrivateKey", authority: "x509.Certificate", names: list[str]
) -> bytes:
    """A new key with a certificate for the names, and the authority's certificate, as PEM."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "uat-sandbox")])
    builder = _builder(subject, authority.subject, key.public_key(), _SERVER_LIFE)
    for extension, is_critical in (
        (x509.BasicConstraints(ca=False, path_length=None), True),
        (_usage(signs_certificates=False), True),
        (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False),
        (x509.SubjectAlternativeName([_general_name(name) for name in names]), False),
        (x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), False),
    ):
        builder = builder.add_extension(extension, critical=is_critical)
    return _key_pem(key) + _pem(_signed(builder, authority_key)) + _pem(authority)


def _builder(subject: Any, issuer: Any, public_key: Any, life: timedelta) -> Any:
    from cryptography import x509

    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now - _SKEW + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def _usage(*, signs_certificates: bool) -> Any:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _signed(builder: Any, key: Any) -> Any:
    from cryptography.hazmat.primitives import hashes

    return builder.sign(key, hashes.SHA256())


def _general_name(name: str) -> Any:
    from cryptography import x509

    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pem(certificate: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return bytes(certificate.public_bytes(Encoding.PEM))


def _key_pem(key: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    return bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def _write_secret(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
