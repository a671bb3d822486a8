"""Variables of the environment that look like settings of a server and are none."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import click

_OF_COMMANDS: Final = {
    "SANDBOX_CA",
    "SANDBOX_COMMAND",
    "SANDBOX_COMPLETE",
    "SANDBOX_CONTROL_URL",
    "SANDBOX_KEY",
    "SANDBOX_PORT_HINT",
    "SANDBOX_RECEIVER_HOST",
    "SANDBOX_TERMINAL",
    "SANDBOX_TOKEN",
    "SANDBOX_TOKEN_FILE",
    "SANDBOX_URL",
    "SANDBOX_WEBHOOK_SECRET",
    "SANDBOX_WORLD",
}
"""Variables of other commands, of the Makefile, and of the test kit."""

_OTHERS: Final = re.compile(
    r"SANDBOX_(KEY|ENV)_.*"
    r"|SANDBOX_(.*_)?SERVICE_(HOST|PORT|PORT_.*)"
    r"|SANDBOX_(.*_)?PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?"
)
"""Keys as `sandbox keys --env` names them, and what Kubernetes and Docker set in every container
beside a service with the name sandbox or sandbox-NAME."""


def is_link(name: str, value: str | None) -> bool:
    """Whether Kubernetes set the variable for a service, like SANDBOX_PORT=tcp://10.96.0.1:8080."""
    return name.endswith("_PORT") and value is not None and "://" in value


class LinkableOption(click.Option):
    """An option for a port, whose variable may be set for a service of that name."""

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        """The value of the variable, None for the address of a service."""
        value = super().resolve_envvar_value(ctx)
        return None if is_link(str(self.envvar), value) else value


def remarks(environment: Mapping[str, str], settings: Iterable[Any]) -> Iterator[str]:
    """A sentence about each variable that is passed over; `settings` are the options."""
    from sandbox.domain.text import nearest, printable

    names = {str(one.envvar) for one in settings if getattr(one, "envvar", None)}
    for name, value in sorted(environment.items()):
        if not name.startswith("SANDBOX_"):
            continue
        if is_link(name, value):
            if name in names:
                shown = printable(value)[:80]
                yield f"{name}={shown} is the address of a service, not a port, and is passed over"
        elif name not in names | _OF_COMMANDS and not _OTHERS.fullmatch(name):
            known = [one.removeprefix("SANDBOX_").lower() for one in sorted(names | _OF_COMMANDS)]
            near = nearest(name.removeprefix("SANDBOX_"), known)
            hint = f"; did you mean SANDBOX_{near.upper()}?" if near else ""
            yield f"the variable {printable(name)[:80]} is no setting of the sandbox{hint}"
