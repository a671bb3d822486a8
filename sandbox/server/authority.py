"""The certificate authority of this machine, and the certificates that it signs for `serve --tls`.

A phone that trusts the authority's certificate also trusts every later start of the sandbox. The
private key of the authority never leaves its folder, which only the owner can read.
"""

import socket
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from filelock import FileLock

from sandbox.store.files.disk import replace_file

_PAIR_FILE: Final = "ca-key.pem"
_AUTHORITY_LIFE: Final = timedelta(days=3650)
_AUTHORITY_LEFT_MIN: Final = timedelta(days=400)
_SERVER_LIFE: Final = timedelta(days=397)
"""Phones refuse certificates that are valid for longer."""
_SKEW: Final = timedelta(days=1)
"""Certificates are valid from this long ago, because the clock of a phone may be slow."""


def issue_chain(folder: Path, ca_file: Path, names: list[str]) -> tuple[bytes, bytes]:
    """Return a new key with its chain for these names, and the authority's certificate, as PEM.

    The authority in the folder is created on first use. Its certificate is written to `ca_file`
    unless it is there. Raises OSError, and ValueError for an unusable file or name; its message
    says why.
    """
    with FileLock(folder / ".lock"):
        key, certificate = _authority(folder)
        ca = _pem(certificate)
        if not ca_file.is_file() or ca_file.read_bytes() != ca:
            ca_file.write_bytes(ca)
    return _server_chain(key, certificate, names), ca


def _authority(folder: Path) -> tuple[EllipticCurvePrivateKey, x509.Certificate]:
    """Return the key and certificate of the authority, new ones if they are missing or end soon."""
    pair = folder / _PAIR_FILE
    if pair.exists():
        content = pair.read_bytes()
        try:
            key: Any = serialization.load_pem_private_key(content, None)
            certificate = x509.load_pem_x509_certificate(content)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"{pair}: is not a key with its certificate: {error}; remove the folder "
                "to get a new one"
            ) from None
        if certificate.not_valid_after_utc - datetime.now(UTC) > _AUTHORITY_LEFT_MIN:
            return key, certificate
    return _new_authority(folder)


def _new_authority(folder: Path) -> tuple[EllipticCurvePrivateKey, x509.Certificate]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name(
        [x509.NameAttribute(NameOID.COMMON_NAME, f"uat-sandbox on {socket.gethostname()}"[:64])]
    )
    builder = _builder(name, name, key.public_key(), _AUTHORITY_LIFE)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
    certificate = builder.sign(key, hashes.SHA256())
    replace_file(folder / _PAIR_FILE, [_key_pem(key), _pem(certificate)], keeps_mode=False)
    return key, certificate


def _server_chain(
    authority_key: EllipticCurvePrivateKey, authority: x509.Certificate, names: list[str]
) -> bytes:
    """Return a new key, its certificate for the names, and the authority's certificate, as PEM."""
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
    certificate = builder.sign(authority_key, hashes.SHA256())
    return _key_pem(key) + _pem(certificate) + _pem(authority)


def _builder(subject: Any, issuer: Any, public_key: Any, life: timedelta) -> Any:
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


def _general_name(name: str) -> Any:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name if name.isascii() else name.encode("idna").decode())


def _pem(certificate: Any) -> bytes:
    return bytes(certificate.public_bytes(Encoding.PEM))


def _key_pem(key: Any) -> bytes:
    return bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
