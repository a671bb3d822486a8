"""How a server is set up: the values of the command line, checked, before anything live is made."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from pydantic_core import ValidationError

from sandbox.domain.profile import Profile, parse_profile
from sandbox.store.invention import Invention
from sandbox.world.clock import ClockSetting
from sandbox.world.registry import Limits

LOOPBACK_HOSTS: Final = frozenset({"127.0.0.1", "::1", "localhost"})

LogFormat = Literal["text", "json"]


class SettingsError(ValueError):
    """A setting cannot be used; the message says which, why, and what is possible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of a server.

    `fixture` is a name under `fixtures/` or the path of a file, `scenario` the same under
    `scenarios/`, or a title.
    `control_port` None serves the control surface on the platform's port. `token` None with a host
    that is not loopback makes one up. Port 0 takes a free one. `webhooks_to` are networks and host
    names that webhooks may go to besides public ones, where the host is not loopback. `watch` has
    a server read the scenario again whenever its file changes. `connections_max` None serves as
    many clients at a time as the process may open files for. `known_keys` gives worlds the
    documented keys also where the host is not loopback.

    Raises SettingsError where there is nothing to watch.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    control_port: int | None = None
    fixture: str = "demo"
    seed: int = 1
    invention: Invention | None = None
    clock: ClockSetting = field(default_factory=ClockSetting)
    profile: Profile = field(default_factory=Profile)
    token: str | None = None
    log_format: LogFormat = "text"
    log_requests: bool = False
    explain_headers: bool = True
    limits: Limits = field(default_factory=Limits)
    webhooks_to: tuple[str, ...] = ()
    scenario: str | None = None
    store: Path | None = None
    watch: bool = False
    connections_max: int | None = None
    known_keys: bool = False

    def __post_init__(self) -> None:
        if self.watch and self.scenario is None:
            raise SettingsError("--watch: there is no file to watch; name one with --scenario")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in LOOPBACK_HOSTS or self.host.startswith("127.")

    @property
    def has_known_keys(self) -> bool:
        """Whether anybody may know the keys of worlds that are created (decision 45)."""
        return self.known_keys or self.is_loopback

    @property
    def platform_url(self) -> str:
        """Where the platform is, for who reads of it on the control surface."""
        if self.control_port is None:
            return "/"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def read_profile(path: Path) -> Profile:
    """The profile in a TOML file. Raises SettingsError with the file, the field and the reason."""
    import tomllib

    try:
        return parse_profile(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read: {error}") from error
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
