"""Types of arguments that are one of the words of a table: checked, and completed by the shell.

Words of the package's tables need no server. Worlds and casts are those of the server that the
command line or the environment names; a server that does not answer at once completes nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from sandbox.domain.profile import Profile
from sandbox.domain.text import did_you_mean

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Words = Callable[[], Mapping[str, str]]
"""The words that there are, each with what it means, or an empty text."""


def _outcomes() -> Mapping[str, str]:
    from sandbox.domain.payments.outcomes import OUTCOMES

    return {key: outcome.message or "" for key, outcome in OUTCOMES.items()}


def _faults() -> Mapping[str, str]:
    from sandbox.domain.payments.outcomes import TRANSPORT_FAULTS

    return {key: fault.effect for key, fault in TRANSPORT_FAULTS.items()}


def _outcomes_and_faults() -> Mapping[str, str]:
    return {**_outcomes(), **_faults()}


def _cards() -> Mapping[str, str]:
    from sandbox.domain.payments.cards import CARDS

    return {token: f"{card.brand} {card.type}" for token, card in CARDS.items()}


def _events() -> Mapping[str, str]:
    from sandbox.domain.events import EVENTS

    return {name: row.meaning for name, row in EVENTS.items()}


def _switches() -> Mapping[str, str]:
    from sandbox.domain.switches import SWITCHES

    return {name: switch.about for name, switch in SWITCHES.items()}


def _scenarios() -> Mapping[str, str]:
    from sandbox import library

    return {name: one.about or one.name for name, one in library.scenarios().items()}


def _operations() -> Mapping[str, str]:
    from sandbox.domain.payments.outcomes import Operation

    return {str(operation): "" for operation in Operation}


def _results() -> Mapping[str, str]:
    return {"accepted": "", "rejected": "", "partially_accepted": ""}


def _reasons() -> Mapping[str, str]:
    from sandbox.domain.batches import REASONS

    return REASONS


class KnownType(click.ParamType[Any]):
    """One of the words of a table. Another word is refused with the nearest."""

    def __init__(self, name: str, words: Words) -> None:
        self.name = name
        self._words = words

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The word as it is."""
        known = self._words()
        if value not in known:
            hint = did_you_mean(value, known) or f"; choose from {', '.join(known)}"
            self.fail(f"{shown(value)} is no {self.name.lower()}{hint}", param, ctx)
        return value

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> "list[CompletionItem]":
        """The words that begin with what was typed."""
        return _beginning(self._words(), incomplete)


class HintedType(click.ParamType[Any]):
    """Any word. The shell completes those of a table, and the command or the server checks."""

    def __init__(self, words: Words, name: str = "text") -> None:
        self.name = name
        self._words = words

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The word as it is."""
        return value

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> "list[CompletionItem]":
        """The words that begin with what was typed."""
        return _beginning(self._words(), incomplete)


class ListedType(HintedType):
    """Words with commas between them. The shell completes the last one."""

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> "list[CompletionItem]":
        """The words so far, with each that begins with what was typed of the last."""
        from click.shell_completion import CompletionItem

        before, comma, last = incomplete.rpartition(",")
        offered = _beginning(self._words(), last)
        return [CompletionItem(before + comma + one.value, help=one.help) for one in offered]


class _OnServer(click.ParamType[Any]):
    """A word that the server knows. `read` gives the words of a world, as the server shows it."""

    name = "text"

    def __init__(self, read: Callable[[Mapping[str, Any]], Iterable[str]]) -> None:
        self._read = read

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The word as it is; the server checks it."""
        return value

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> "list[CompletionItem]":
        """The words that begin with what was typed; none if the server does not answer."""
        from sandbox.cli.control import read_for_completion, world_path

        world = read_for_completion(ctx, world_path)
        return _beginning(dict.fromkeys(self._read(world), "") if world else {}, incomplete)


def shown(word: str) -> str:
    """A word of the command line for a message, short and without secrets."""
    return repr(Profile().scrub_start(word, 60))


def _cast(world: Mapping[str, Any]) -> Iterable[str]:
    return dict.fromkeys([*world["keys"], *world["accounts"]])


def _keys(world: Mapping[str, Any]) -> Iterable[str]:
    return [*world["keys"]]


def _terminals(world: Mapping[str, Any]) -> Iterable[str]:
    return [*world["terminals"]]


def switch_values(ctx: Any, param: Any, incomplete: str) -> "list[CompletionItem]":
    """The values of the switch that the command line has named already."""
    from sandbox.domain.switches import SWITCHES

    switch = SWITCHES.get(ctx.params.get("name") or "")
    values = switch.values if switch else ()
    words = [value if isinstance(value, str) else str(value).lower() for value in values]
    return _beginning(dict.fromkeys(words, ""), incomplete)


def _beginning(words: Mapping[str, str], incomplete: str) -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem

    return [
        CompletionItem(word, help=about.replace("\n", " ") or None)
        for word, about in words.items()
        if word.startswith(incomplete)
    ]


CARD: Final = KnownType("CARD", _cards)
OUTCOME: Final = KnownType("OUTCOME", _outcomes_and_faults)
SWITCH: Final = KnownType("SWITCH", _switches)
RESULT: Final = KnownType("RESULT", _results)
REASON: Final = HintedType(_reasons)
SOME_OUTCOME: Final = HintedType(_outcomes)
SOME_FAULT: Final = HintedType(_faults)
SOME_CARD: Final = HintedType(_cards)
SOME_EVENT: Final = HintedType(_events)
SOME_EVENTS: Final = ListedType(_events)
SOME_OPERATION: Final = HintedType(_operations)
SOME_SCENARIO: Final = HintedType(_scenarios)
MEMBER: Final = _OnServer(_cast)
KEY: Final = _OnServer(_keys)
TERMINAL: Final = _OnServer(_terminals)
