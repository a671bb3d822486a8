"""Types of command-line arguments. Each refuses unusable text with a sentence."""

import json
import re
from typing import Any, Final

import click

_ADDRESS: Final = re.compile(r"(?:(?P<host>[A-Za-z0-9.-]*|\[[0-9A-Fa-f:]+\]):)?(?P<port>\d{1,5})")


class TargetType(click.ParamType[Any]):
    """Where webhooks go: a URL, or a port, host or path on this machine."""

    name = "URL"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The URL. `9000` is http://127.0.0.1:9000/, `localhost:9000/hook` stays on its host."""
        if "://" in value:
            return value
        address, _, path = value.partition("/")
        match = _ADDRESS.fullmatch(address)
        if match is None or not 0 < int(match["port"]) < 65_536:
            self.fail(
                f"{value!r}: write it like 9000, 127.0.0.1:9000/hook or http://127.0.0.1:9000/hook",
                param,
                ctx,
            )
        return f"http://{match['host'] or '127.0.0.1'}:{int(match['port'])}/{path}"


class InstantType(click.ParamType[Any]):
    """A point in time with its offset."""

    name = "INSTANT"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The text as it is, once it can be read."""
        from sandbox.domain.instants import parse_rfc3339

        try:
            parse_rfc3339(value)
        except ValueError as error:
            self.fail(f"{value!r} {error}", param, ctx)
        return value


class DurationType(click.ParamType[Any]):
    """A length of time."""

    name = "DURATION"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The text as it is, once it can be read."""
        from sandbox.domain.instants import parse_duration

        try:
            parse_duration(value)
        except ValueError as error:
            self.fail(f"{value!r} {error}", param, ctx)
        return value


class SettingType(click.ParamType[Any]):
    """A name and its value."""

    name = "NAME=VALUE"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Name and value: JSON if it can be read as JSON, otherwise text."""
        if isinstance(value, tuple):
            return value
        name, equals, text = value.partition("=")
        if not name or not equals:
            self.fail(f"{value!r}: write it like name=value", param, ctx)
        try:
            return name, json.loads(text, parse_constant=_no_number)
        except ValueError:
            return name, text


def _no_number(word: str) -> None:
    """NaN and Infinity are not JSON, though Python reads them."""
    raise ValueError(word)


class CountsType(click.ParamType[Any]):
    """Names and numbers: `merchants=200,terminals_per_merchant=2`."""

    name = "NAME=N[,...]"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The numbers by name."""
        try:
            return {name: int(n) for name, n in (one.split("=") for one in value.split(","))}
        except ValueError:
            self.fail(
                f"{value!r}: write it like merchants=200,terminals_per_merchant=2", param, ctx
            )


class StatusType(click.ParamType[Any]):
    """Statuses of answers: `402`, `4xx`, or several of them."""

    name = "STATUS[,...]"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The beginnings of the statuses: `4` for `4xx`, and whole ones."""
        words = [word.strip().lower() for word in value.split(",")]
        wrong = next((w for w in words if not re.fullmatch(r"[1-5](?:xx|[0-9]{2})", w)), None)
        if wrong is not None:
            self.fail(f"{wrong!r}: write it like 402, 4xx or 401,5xx", param, ctx)
        return tuple(word.removesuffix("xx") for word in words)
