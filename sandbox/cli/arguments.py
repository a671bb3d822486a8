"""Arguments and options: words of a table, parsed text, amounts, the token, a profile.

None of these needs a server. Types that do are in `control_client` and `platform_client`.
"""

import fnmatch
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial, reduce
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem
from click.types import FuncParamType

from sandbox.cli.output import Options, ResultCommand, refuse, refusing
from sandbox.domain.batches import REASONS, TRIGGER_OF_ANSWER
from sandbox.domain.currencies import CURRENCIES
from sandbox.domain.events import EVENTS
from sandbox.domain.instants import parse_duration, parse_rfc3339
from sandbox.domain.json_text import parse_finite
from sandbox.domain.payments.cards import CARDS
from sandbox.domain.payments.outcomes import OUTCOMES, Operation
from sandbox.domain.profile import Profile
from sandbox.domain.switches import SWITCHES
from sandbox.domain.text import did_you_mean
from sandbox.domain.transport_faults import TRANSPORT_FAULTS
from sandbox.settings import LogFormat, Settings, SettingsError, read_profile
from sandbox.tokens import TokenError, read_token

_ADDRESS: Final = re.compile(r"(?:(?P<host>[A-Za-z0-9.-]*|\[[0-9A-Fa-f:]+\]):)?(?P<port>\d{1,5})")

Words = Mapping[str, str]
"""The known words, each with its meaning or an empty text."""

_OUTCOMES: Final = {key: outcome.message or "" for key, outcome in OUTCOMES.items()}
_FAULTS: Final = {key: fault.effect for key, fault in TRANSPORT_FAULTS.items()}
_CARDS: Final = {token: f"{card.brand} {card.type}" for token, card in CARDS.items()}
_EVENTS: Final = {name: row.meaning for name, row in EVENTS.items()}


def quote_word(word: str) -> str:
    """Return a word of the command line for a message, short and without secrets."""
    return repr(Profile().scrub_start(word, 60))


# --- words


class HintedType(click.ParamType[Any]):
    """Any word. The shell completes those of a table, and the command or the server checks it.

    `words` is a function if the table is only known when a word is completed.
    """

    def __init__(self, words: Words | Callable[[click.Context], Words], name: str = "text") -> None:
        self.name = name
        self.words = words

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        """Return the words that begin with what was typed."""
        return [
            CompletionItem(word, help=about.replace("\n", " ") or None)
            for word, about in (self.words(ctx) if callable(self.words) else self.words).items()
            if word.startswith(incomplete)
        ]


class WordOrFileType(HintedType):
    """One of the words of a table, or the name of a file."""

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        """Return the words that begin with what was typed, and without any the files."""
        words = super().shell_complete(ctx, param, incomplete)
        return words or [CompletionItem(incomplete, type="file")]


class KnownType(HintedType):
    """One of the words of a table. Other words are refused, with the nearest one."""

    words: Words

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the word as it is."""
        if value not in self.words:
            hint = did_you_mean(value, self.words) or f"; choose from {', '.join(self.words)}"
            self.fail(f"{quote_word(value)} is not a known {self.name.lower()}{hint}", param, ctx)
        return value


class NumberRange(click.FloatRange):
    """A number in a range. `nan`, which is in none, is refused."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Return the number."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{quote_word(str(value))} is not a number", param, ctx)
        return number


class EventsType(HintedType):
    """Events or patterns like `batch.*`, with commas between them. The shell completes the last."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the events that are named or match, each once."""
        named: list[str] = []
        for pattern in filter(None, map(str.strip, value.split(","))):
            found = fnmatch.filter(EVENTS, pattern)
            if not found:
                hint = did_you_mean(pattern, EVENTS)
                self.fail(f"there is no event {quote_word(pattern)}{hint}", param, ctx)
            named += found
        return tuple(dict.fromkeys(named))

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        """Return the words so far, with each that begins with what was typed of the last."""
        before, comma, last = incomplete.rpartition(",")
        offered = super().shell_complete(ctx, param, last)
        return [CompletionItem(before + comma + one.value, help=one.help) for one in offered]


def _operations(ctx: click.Context) -> Words:
    """Return the actions on payments, and the operations of the platform."""
    from sandbox.platform.routes import OPERATIONS  # noqa: PLC0415 - only a shell completes

    rows = {row.name: row.summary for row in OPERATIONS if row.run is not None}
    return dict.fromkeys(Operation, "") | rows


def _library(ctx: click.Context) -> Words:
    from sandbox import library  # noqa: PLC0415 - its files take pydantic

    # Scenarios name operations, so these are imported first.
    _operations(ctx)
    return {name: one.about or one.name for name, one in library.scenarios().items()}


def _switch_values(ctx: click.Context) -> Words:
    """Return the values of the switch that the command line has named already."""
    switch = SWITCHES.get(ctx.params.get("name") or "")
    values = switch.values if switch else ()
    return {value if isinstance(value, str) else str(value).lower(): "" for value in values}


CARD: Final = KnownType(_CARDS, "CARD")
OUTCOME: Final = KnownType(_OUTCOMES | _FAULTS, "OUTCOME")
SWITCH: Final = KnownType({name: one.about for name, one in SWITCHES.items()}, "SWITCH")
SWITCH_VALUE: Final = HintedType(_switch_values)
RESULT: Final = KnownType(dict.fromkeys(TRIGGER_OF_ANSWER, ""), "RESULT")
REASON: Final = HintedType(REASONS)
SOME_OUTCOME: Final = HintedType(_OUTCOMES)
SOME_FAULT: Final = HintedType(_FAULTS)
SOME_CARD: Final = HintedType(_CARDS)
SOME_EVENT: Final = HintedType(_EVENTS)
SOME_EVENTS: Final = EventsType(_EVENTS)
OPERATION: Final = KnownType({one.value: "" for one in Operation}, "OPERATION")
SOME_OPERATION: Final = HintedType(_operations)
SOME_SCENARIO: Final = WordOrFileType(_library)
"""A scenario of the library, whose files are read only to be completed, or a file."""


# --- text that is parsed


class ParsedType(FuncParamType[str, Any]):
    """Text that a function parses. It raises ValueError with the reason for unusable text."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        super().__init__(parse)
        self.name = name


def _parse_target(value: str) -> str:
    """Return the URL. `9000` is http://127.0.0.1:9000/, `localhost:9000/hook` stays on its host."""
    if "://" in value:
        return value
    address, _, path = value.partition("/")
    match = _ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match["port"]) < 65_536:
        raise ValueError(
            f"{value!r}: write it like 9000, 127.0.0.1:9000/hook or http://127.0.0.1:9000/hook"
        )
    return f"http://{match['host'] or '127.0.0.1'}:{int(match['port'])}/{path}"


def _checked(check: Callable[[str], Any]) -> Callable[[str], str]:
    """Return a function that checks a text, and returns it as it is."""

    def parse(value: str) -> str:
        try:
            check(value)
        except ValueError as error:
            raise ValueError(f"{value!r} {error}") from None
        return value

    return parse


def _parse_pair(value: str) -> tuple[str, str]:
    name, equals, text = value.partition("=")
    if not name or not equals:
        raise ValueError(f"{value!r}: write it like name=value")
    return name, text


def _parse_reading(value: str) -> tuple[str, str | None]:
    """Return id and value, which is None for that of the profile."""
    name, text = _parse_pair(value)
    return name, None if text == "null" else text


def _parse_setting(value: str) -> tuple[str, Any]:
    """Return name and value, which is JSON if it can be read as JSON, otherwise text."""
    name, text = _parse_pair(value)
    try:
        return name, parse_finite(text.encode())
    except ValueError:
        return name, text


def parse_counts(value: str) -> dict[str, int]:
    """Return the numbers by name."""
    try:
        return {name: int(n) for name, n in (one.split("=") for one in value.split(","))}
    except ValueError:
        raise ValueError(
            f"{value!r}: write it like merchants=200,terminals_per_merchant=2"
        ) from None


def _parse_statuses(value: str) -> tuple[str, ...]:
    """Return the beginnings of statuses, such as `4` for `4xx`, and whole statuses."""
    words = [word.strip().lower() for word in value.split(",")]
    for word in words:
        if not re.fullmatch(r"[1-5](?:xx|[0-9]{2})", word):
            raise ValueError(f"{word!r}: write it like 402, 4xx or 401,5xx")
    return tuple(word.removesuffix("xx") for word in words)


parse_instant: Final = _checked(parse_rfc3339)

TARGET: Final = ParsedType("URL", _parse_target)
INSTANT: Final = ParsedType("INSTANT", parse_instant)
DURATION: Final = ParsedType("DURATION", _checked(parse_duration))
SETTING: Final = ParsedType("NAME=VALUE", _parse_setting)
READING: Final = ParsedType("READING=VALUE", _parse_reading)
COUNTS: Final = ParsedType("NAME=N[,...]", parse_counts)
STATUSES: Final = ParsedType("STATUS[,...]", _parse_statuses)


# --- amounts of money, as people write them: `10`, `10.5` and `10.00` of a currency

_AMOUNT: Final = re.compile(r"[0-9]{1,12}(\.[0-9]+)?")
_PERCENT: Final = re.compile(r"[0-9]{1,3}(\.[0-9]+)?%")


def units_of(text: str, currency: str | None, name: str) -> int:
    """Return the amount of the argument `name` in minor units: 1050 for `10.5`.

    Ends the command if the currency has fewer decimals.
    """
    known = CURRENCIES.get(currency or "")
    digits = known.exponent if known else 2
    units, _, part = text.partition(".")
    if len(part) > digits:
        has = f"{currency or 'the currency'} has {digits or 'no'} decimals"
        why = f"{text!r}: {has}; write the amount like {10:.{digits}f}"
        raise click.BadParameter(why, param_hint=f"'{name}'")
    return int(units + part.ljust(digits, "0"))


def _check_amount(text: str) -> str:
    if _AMOUNT.fullmatch(text) is None:
        raise ValueError(f"{quote_word(text)}: write the amount like 10 or 10.00")
    return text


def _check_positive_amount(text: str) -> str:
    if not _check_amount(text).strip("0."):
        raise ValueError(f"{text!r}: the amount must be more than zero")
    return text


def _check_tip(text: str) -> str:
    if not _PERCENT.fullmatch(text):
        return _check_amount(text)
    if float(text[:-1]) > 100:
        raise ValueError(f"{text!r}: a tip is at most 100%")
    return text


# The currency may be known only later, so commands get the text, and `units_of` converts it.
AMOUNT: Final = ParsedType("AMOUNT", _check_positive_amount)
AMOUNT_OR_ZERO: Final = ParsedType("AMOUNT", _check_amount)
TIP: Final = ParsedType("TIP", _check_tip)
"""An amount, or a percentage like `18%`."""


# --- options that several commands have ---------------------------------------------------------

FILE: Final = click.Path(path_type=Path)
C = TypeVar("C", bound=Callable[..., Any])


events_option = partial(click.option, "--events", type=SOME_EVENTS, metavar="EVENT[,...]")


def several(*names: str, help: str, **more: Any) -> Callable[[C], C]:
    """Return an option that may be given several times, and says so."""
    return click.option(*names, multiple=True, help=f"{help} May be given several times.", **more)


_FIELDS: Final = {one.name: one for one in fields(Settings)}


def settings(*names: str, **more: Any) -> Callable[[C], C]:
    """Return the options for these fields of the settings of a server.

    `more` goes to each option.
    """
    options = [_option_of(name, more) for name in reversed(names)]
    return lambda command: reduce(lambda done, option: option(done), options, command)


def _option_of(name: str, more: dict[str, Any]) -> Callable[[C], C]:
    field = _FIELDS[name]
    given: dict[str, Any] = dict(field.metadata)
    option = given.pop("name", f"--{name.replace('_', '-')}")
    if ends := given.pop("within", None):
        given["type"] = click.IntRange(*ends)
    elif field.type == Path | None:
        given = {"type": FILE, "metavar": "FILE"} | given
    elif field.type == LogFormat:
        given["type"] = click.Choice(get_args(LogFormat))
    is_list = field.default == ()
    given |= {"multiple": True} if is_list else {"default": field.default}
    return click.option(option, name, is_flag=field.type is bool, **given | more)


def _read_profile(ctx: click.Context, param: click.Parameter, file: Path | None) -> Profile:
    with refusing(SettingsError):
        return read_profile(file) if file else Profile()


profile_option = partial(click.option, "--profile", type=FILE, callback=_read_profile)
"""The option for a file with a profile. The command gets the profile."""


TOKEN: Final[dict[str, Any]] = {
    "envvar": "SANDBOX_TOKEN",
    "help": "Bearer token of the control API (env SANDBOX_TOKEN). The option is visible in the "
    "list of processes: prefer the variable, or --token-file.",
}
TOKEN_FILE: Final[dict[str, Any]] = {
    "type": FILE,
    "envvar": "SANDBOX_TOKEN_FILE",
    "metavar": "FILE",
    "help": "File with the token and nothing else (env SANDBOX_TOKEN_FILE).",
}


class TokenCommand(ResultCommand):
    """A command with `--token` and `--token-file`, which gets the token that they name, or None."""

    added: Options = (
        click.Option(["--token"], **TOKEN),
        click.Option(["--token-file"], **TOKEN_FILE),
    )

    def value_for(self, ctx: click.Context) -> dict[str, Any]:
        """Return the arguments of its function. An option takes precedence over a variable."""
        given = super().value_for(ctx)
        token, file = given["token"], given.pop("token_file")
        if token is not None and file is not None:
            source = ctx.get_parameter_source
            is_option = source("token") is ParameterSource.COMMANDLINE
            if source("token") is source("token_file"):
                variables = "SANDBOX_TOKEN and SANDBOX_TOKEN_FILE: set one of them"
                refuse("--token and --token-file: give one of them" if is_option else variables)
            file = None if is_option else file
        if file is not None:
            with refusing(TokenError, before="--token-file: "):
                given["token"] = read_token(file)
        return given
