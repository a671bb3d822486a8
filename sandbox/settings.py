"""The settings of a server: the checked values of the command line."""

import os
import re
import tomllib
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Final, Literal

from pydantic_core import ValidationError

from sandbox.domain.clock import ClockSetting
from sandbox.domain.profile import Profile, parse_profile
from sandbox.domain.text import NotUtf8, decode_text
from sandbox.store.world_state import GeneratedData
from sandbox.tokens import TokenError, check_token
from sandbox.worlds.spec import Limits

_HOST_NAME: Final = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")

_WINDOWS_PATH: Final = re.compile(r"[A-Za-z]:\\")
_URL: Final = re.compile(r"http://[A-Za-z0-9._:\[\]-]+")

LogFormat = Literal["text", "json"]


class SettingsError(ValueError):
    """A setting is invalid; the message gives its name, the reason and the options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of a server.

    `fixture` is a name under `fixtures/` or the path of a file, `scenario` the same under
    `scenarios/`, or a title.
    `control_port` None serves the control API on the platform's port. `token` None with a host
    that is not loopback makes one up. A server without one answers for loopback hosts, `host` and
    `allow_hosts`. Port 0 takes a free one. `webhooks_to` are networks and host names that webhooks
    may go to besides public ones, where the host is not loopback. `webhooks_ca` is a file with
    certificates that receivers may have besides those that the system trusts. `webhooks` are URLs
    to which the world `default` sends webhooks. With `watch` a server reads the
    scenario again whenever its file changes. `shared` says that other people reach a server on
    loopback, through a proxy or a tunnel. `bound_address` is the address of the socket, once
    there is one. `connections_max` None sets no limit to connections, and a body on the platform
    has at most `body_bytes_max` bytes. `known_keys` gives worlds the documented keys even if
    others can reach the server. `tls` serves HTTPS, with the certificate of `tls_cert` and
    `tls_key`, or else with one of an authority in `tls_folder`; `ca` is the authority's
    certificate as PEM, once there is one. `store` is a state file; in its place `database` is the
    URL of a PostgreSQL database whose worlds several servers share. There a server is known by
    its `server_name`, and the others reach it at the URL `advertise`.

    Raises SettingsError for an unusable token or host, and if there is no file to watch.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    control_port: int | None = None
    fixture: str = "demo"
    seed: int = 1
    generated_data: GeneratedData | None = None
    clock: ClockSetting = field(default_factory=ClockSetting)
    profile: Profile = field(default_factory=Profile)
    token: str | None = field(default=None, repr=False)
    allow_hosts: tuple[str, ...] = ()
    log_format: LogFormat = "text"
    log_requests: bool = False
    explain_headers: bool = True
    limits: Limits = field(default_factory=Limits)
    webhooks_to: tuple[str, ...] = ()
    webhooks_ca: Path | None = None
    webhooks: tuple[str, ...] = ()
    scenario: str | None = None
    store: Path | None = None
    database: str | None = field(default=None, repr=False)
    advertise: str | None = None
    server_name: str | None = None
    watch: bool = False
    shared: bool = False
    bound_address: str | None = None
    connections_max: int | None = None
    body_bytes_max: int = 65_536
    known_keys: bool = False
    tls: bool = False
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_folder: Path | None = None
    ca: bytes | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.token is not None:
            try:
                check_token(self.token)
            except TokenError as error:
                raise SettingsError(
                    f"--token: {error}; give one with SANDBOX_TOKEN, --token-file or --token"
                ) from None
        for name in self.allow_hosts:
            if not _HOST_NAME.fullmatch(name):
                raise SettingsError(
                    f"--allow-host: {name!r} is no host name; write it like sandbox.example, "
                    "without a scheme and a port"
                )
        if self.store is not None and os.name == "posix" and _WINDOWS_PATH.match(str(self.store)):
            raise SettingsError(
                f"--store: {str(self.store)!r} is a path of Windows; write one of this machine"
            )
        if self.watch and self.scenario is None:
            raise SettingsError("--watch: there is no file to watch; name one with --scenario")
        if self.advertise is not None and not _URL.fullmatch(self.advertise):
            raise SettingsError(
                f"--advertise: {self.advertise!r} is no URL; write it like http://sandbox-1:8080"
            )
        if self.tls_key is not None and self.tls_cert is None:
            raise SettingsError("--tls-key: there is no certificate; name one with --tls-cert")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server.

        The address of its socket decides. Without one, `host` must be a loopback address or
        `localhost`; no name is looked up.
        """
        host = self.bound_address or self.host
        try:
            return ip_address(host).is_loopback
        except ValueError:
            return self.bound_address is None and host == "localhost"

    @property
    def is_private(self) -> bool:
        """Whether one person has the server, who needs no token and no guard."""
        return self.is_loopback and not self.shared

    @property
    def has_known_keys(self) -> bool:
        """Whether anybody may know the keys of worlds that are created."""
        return self.known_keys or self.is_private

    @property
    def is_tls(self) -> bool:
        """Whether the server speaks HTTPS, and no plain HTTP."""
        return self.tls or self.tls_cert is not None

    @property
    def scheme(self) -> str:
        """`http` or `https`."""
        return "https" if self.is_tls else "http"

    @property
    def advertised_url(self) -> str:
        """The URL at which other servers reach the platform of this one."""
        return self.advertise or self._url_at(self.port)

    @property
    def advertised_control_url(self) -> str:
        """The URL at which other servers reach the control API of this one."""
        if self.control_port is None:
            return self.advertised_url
        if self.advertise is None:
            return self._url_at(self.control_port)
        return f"{self.advertise.rpartition(':')[0]}:{self.control_port}"

    def _url_at(self, port: int) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{port}"

    @property
    def platform_url(self) -> str:
        """The URL of the platform, for readers of the control API."""
        if self.control_port is None:
            return "/"
        return self._url_at(self.port)


def is_database(store: str | None) -> bool:
    """Whether this names a PostgreSQL database, and no state file."""
    return store is not None and store.startswith(("postgresql://", "postgres://"))


def read_profile(path: Path) -> Profile:
    """The profile in a TOML file. Raises SettingsError with the file, the field and the reason."""
    try:
        return parse_profile(tomllib.loads(decode_text(path.read_bytes())))
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error}") from error
    except NotUtf8 as error:
        raise SettingsError(f"{path}: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: is not TOML: {error}") from error
    except ValidationError as error:
        raise SettingsError(f"{path}: {mistakes(error)}") from error


def mistakes(error: ValidationError) -> str:
    """Everything that pydantic found, field by field."""
    return "; ".join(
        f"{'.'.join(map(str, one['loc']))}: {one['msg'].removeprefix('Value error, ')}"
        for one in error.errors(include_input=False)
    )
