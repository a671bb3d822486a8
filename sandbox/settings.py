"""The settings of a server: checked values of its command line."""

import os
import re
import tomllib
from collections.abc import Collection
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, Literal

from pydantic_core import ErrorDetails, ValidationError

from sandbox.domain.clock import ClockSetting
from sandbox.domain.field_types import sentence
from sandbox.domain.profile import FIELD_NAMES, Profile, parse_profile
from sandbox.domain.text import NotUtf8, decode_text, did_you_mean, parse_toml, why_not_read
from sandbox.store.world_state import GeneratedData
from sandbox.tokens import TokenError, check_token
from sandbox.worlds.spec import Limits

_HOST_NAME: Final = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")

_WINDOWS_PATH: Final = re.compile(r"[A-Za-z]:\\")
_OTHER_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
"""The beginning of a URL, of which `Path` keeps one slash."""
_URL: Final = re.compile(r"http://[A-Za-z0-9._:\[\]-]+")

LogFormat = Literal["text", "json"]


class SettingsError(ValueError):
    """A setting is invalid; the message gives its name, the reason and the options."""


def option(default: Any, help: str, **more: Any) -> Any:
    """Return a setting with the help text and other properties of its option."""
    return field(default=default, metadata={"help": help, **more})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of a server.

    The help text of an option describes its setting. If `control_port` is None, the control API is
    on the platform's port. If `token` is None and other machines can reach the server, one is
    generated; a server without a token answers for loopback hosts, `host` and `allow_hosts`.
    `store` is a state file; instead, `database` can be the URL of a PostgreSQL database whose
    worlds several servers share. `bound_address` is the address of the socket, once there is one,
    and `ca` the certificate of the authority as PEM.

    Raises SettingsError for unusable values.
    """

    host: str = option("127.0.0.1", "Address to listen on.")
    port: int = option(8080, "Port of the platform; 0 picks a free one.", within=(0, 65535))
    control_port: int | None = option(
        None, "Serve the control API (/_sandbox) on this port only.", within=(0, 65535)
    )
    fixture: str = option(
        "demo", "Fixture of the world 'default': a name under fixtures/, or a file."
    )
    generated_data: GeneratedData | None = option(
        None,
        "Generate more merchants than the fixture has: merchants=200,terminals_per_merchant=2.",
        name="--invent",
    )
    scenario: str | None = option(
        None, "Scenario to run in 'default': a name or title of the library, or a file."
    )
    watch: bool = option(False, "Read the scenario file again whenever it changes.")
    seed: int = option(
        1,
        "Seed for ids; the default for worlds created without one.",
        within=(-(2**63), 2**63 - 1),
    )
    clock: ClockSetting = option(
        ClockSetting(), "Clock of 'default': running, or frozen at an instant."
    )
    profile: Profile = field(default_factory=Profile)
    store: Path | None = None
    database: str | None = field(default=None, repr=False)
    advertise: str | None = option(
        None,
        "URL at which the other servers of a postgresql:// store reach this one. Default: --host "
        "and --port.",
        metavar="URL",
    )
    server_name: str | None = option(
        None,
        "Name of this server in a shared postgresql:// store, for people and load balancers.",
        name="--name",
        metavar="NAME",
    )
    token: str | None = field(default=None, repr=False)
    allow_hosts: tuple[str, ...] = option(
        (),
        "Also answer for this host name of a tunnel or proxy, if the server has no token. May be "
        "given several times; SANDBOX_ALLOW_HOST takes several names separated by spaces.",
        name="--allow-host",
        metavar="NAME",
    )
    shared: bool = option(
        False,
        "Others can reach this server through a proxy or tunnel: ask for a token, and send no "
        "webhooks to internal addresses, even on loopback.",
    )
    known_keys: bool = option(
        False,
        "Give new worlds the documented API keys even if --host is not loopback. Otherwise such a "
        "server has its own keys.",
    )
    tls: bool = option(
        False,
        "Serve HTTPS, for phones, with a certificate of this machine's own authority. The control "
        "API serves the authority's certificate at /_sandbox/ca.pem.",
    )
    tls_cert: Path | None = option(None, "Serve HTTPS with this certificate (PEM).")
    tls_key: Path | None = option(None, "Key of --tls-cert, if that file does not contain it.")
    tls_folder: Path | None = option(
        None,
        "Folder of the authority for --tls. Default: uat-sandbox/tls in your data folder.",
        metavar="FOLDER",
    )
    ca: bytes | None = field(default=None, repr=False)
    log_format: LogFormat = option("text", "Format of the log.")
    log_requests: bool = False
    explain_headers: bool = True
    limits: Limits = field(default_factory=Limits)
    body_bytes_max: int = option(
        65_536,
        "Largest body of a request to the platform, in bytes.",
        within=(1, 64 * 1_048_576),
    )
    connections_max: int | None = option(
        None,
        "Maximum number of connections (env SANDBOX_CONNECTIONS_MAX). Default: no limit.",
        within=(1, None),
    )
    webhooks: tuple[str, ...] = option(
        (),
        "Send the webhooks of 'default' to this URL. May be given several times. The control API "
        "shows the secret: GET /_sandbox/worlds/default/endpoints.",
        name="--webhook",
        metavar="URL",
    )
    webhooks_to: tuple[str, ...] = option(
        (),
        "Send webhooks to this internal host or network even if the server is not on loopback. May "
        "be given several times.",
        metavar="HOST|NETWORK",
    )
    webhooks_ca: Path | None = option(
        None, "Trust receivers with a certificate from this file (PEM), such as a self-signed one."
    )
    bound_address: str | None = None

    def __post_init__(self) -> None:
        if not self.host:
            # The system would listen on all addresses.
            raise SettingsError("--host: is empty; name an address, like 127.0.0.1")
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
                    f"--allow-host: {name!r} is not a host name; write it like sandbox.example, "
                    "without a scheme and a port"
                )
        if self.store is not None and (problem := problem_with_store(str(self.store))):
            raise SettingsError(f"--store: {problem}")
        if self.watch and self.scenario is None:
            raise SettingsError("--watch: there is no file to watch; name one with --scenario")
        if self.advertise is not None and not _URL.fullmatch(self.advertise):
            raise SettingsError(
                f"--advertise: {self.advertise!r} is not a URL; write it like http://sandbox-1:8080"
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
        """Whether one person uses the server, without a token and an address guard."""
        return self.is_loopback and not self.shared

    @property
    def has_known_keys(self) -> bool:
        """Whether the keys of new worlds are public."""
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
        return self.advertise or self.url_at(self.port)

    @property
    def advertised_control_url(self) -> str:
        """The URL at which other servers reach the control API of this one."""
        if self.control_port is None:
            return self.advertised_url
        if self.advertise is None:
            return self.url_at(self.control_port)
        return f"{re.sub(r':[0-9]*$', '', self.advertise)}:{self.control_port}"

    def url_at(self, port: int) -> str:
        """Return the URL of this server at one of its ports."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{port}"

    @property
    def platform_url(self) -> str:
        """The URL of the platform, as seen from the control API."""
        return "/" if self.control_port is None else self.url_at(self.port)


def problem_with_store(path: str) -> str | None:
    """Return why this cannot be the path of a file: it is one of another system, or a URL."""
    if os.name == "posix" and _WINDOWS_PATH.match(path):
        return f"{path!r} is a Windows path; write one of this machine"
    if url := _OTHER_URL.match(path):
        # The rest may contain a password.
        how = "write it like postgresql://user@host/name, or name a file"
        return f"a URL that begins with {url[1]}:// cannot be used; {how}"
    return None


def is_database(store: str | None) -> bool:
    """Whether this names a PostgreSQL database, and no state file."""
    return store is not None and store.startswith(("postgresql://", "postgres://"))


def read_profile(path: Path) -> Profile:
    """Return the profile in a TOML file.

    Raises SettingsError with the file, the field and the reason.
    """
    try:
        return parse_profile(parse_toml(decode_text(path.read_bytes())))
    except (OSError, NotUtf8) as error:
        raise SettingsError(f"{path}: {why_not_read(error)}") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: is not TOML: {error}") from error
    except ValidationError as error:
        raise SettingsError(f"{path}: {mistakes(error, FIELD_NAMES)}") from error


_UNKNOWN: Final = ("extra_forbidden", "unexpected_keyword_argument")
"""What pydantic calls a field that a model, or a dataclass, does not have."""


def mistakes(error: ValidationError, names: Collection[str]) -> str:
    """Return all mistakes that pydantic found, field by field; `names` are those of all fields."""
    return "; ".join(
        f"{'.'.join(map(str, one['loc']))}: {_reason(one, names)}"
        for one in error.errors(include_input=False)
    )


def _reason(mistake: ErrorDetails, names: Collection[str]) -> str:
    if mistake["type"] in _UNKNOWN:
        return f"unknown field{did_you_mean(str(mistake['loc'][-1]), names)}"
    return sentence(mistake["msg"])
