"""Scenarios that are written by chance or spoilt: refused by name of rule and field, or played."""

import copy
import json
import re
import tomllib
from pathlib import Path
from random import Random
from typing import Any

from sandbox.domain.payments.cards import CARDS
from sandbox.domain.payments.edits import broken
from sandbox.domain.payments.outcomes import OUTCOMES
from sandbox.scenarios.parser import ScenarioError, parse_scenario, read_scenario
from tests.driving import Response
from tests.soak.client import Client, in_process
from tests.soak.making import AMOUNTS, Known, Maker
from tests.soak.report import Found
from tests.soak.rounds import Round
from tests.soak.spoiling import places, spoilt
from tests.support import payments
from tests.support.payments import record_of

STEPS = 10
ACTS = 14
LIBRARY = Path(__file__).parents[2] / "scenarios"
LISTS = ("rule", "webhook", "example")
SECRET = re.compile(rb"svc_|[0-9]{4}[ -]?[0-9]{4}[ -]?[0-9]{4}")
"""What a surface may refuse for itself, and never repeats."""

CONTROL = "/worlds/default"
CAST = ("merchant", "second_merchant", "surcharge_merchant", "passthrough_merchant")

Document = dict[str, Any]

THEN: list[Document] = [
    {"outcome": "do_not_honor"},
    {"outcome": "partial_approval", "approved_amount": 300},
    {"outcome": "approved", "delay_ms": 1500},
    {"tap": "wait"},
    {"tap": "wait", "after": "30s", "outcome": "insufficient_funds"},
    {"fault": "http_503", "times": 1},
    {"fault": "drop_after"},
    {"fault": "slow", "delay_ms": 20},
    {"fault": "malformed_json", "outcome": "refer_to_issuer"},
    {"outcome": "surcharge_prompt", "follow": [{"after": "10s", "do": "surcharge_expires"}]},
    {"outcome": "pending_forever", "follow": [{"after": "5m", "do": "cancel"}]},
    {
        "outcome": "processor_timeout",
        "follow": [{"after": "1m", "do": "late_answer", "outcome": "approved"}],
    },
    {
        "follow": [
            {"after": "0s", "do": "block_terminal"},
            {"after": "1h", "do": "unblock_terminal"},
        ]
    },
    {"follow": [{"after": "2s", "do": "revoke_key"}, {"after": "3s", "do": "reinstate_key"}]},
    {"outcome": "timed_out", "times": 2, "delay_ms": 3_600_000},
]
"""What can happen to an attempt."""

OF_BATCHES: list[Document] = [
    {"batch": "accepted", "after": "1h"},
    {"batch": "rejected", "reason": "hash_mismatch", "times": 1},
    {"batch": "rejected", "reason": "because I say so"},
    {"batch": "partially_accepted", "rejected": 1},
]
OF_WEBHOOKS: list[Document] = [
    {"drop": True},
    {"duplicate": 3},
    {"delay_ms": 5000},
    {"order": "last"},
    {"order": "first"},
    {"signature": "wrong"},
    {"signature": "old_secret"},
    {"stale_timestamp": True},
    {"truncate": 10},
    {"before_answer": True},
    {"contradict": {"status": "declined", "new": [1]}, "times": 2},
]


def play(round: Round) -> None:
    """Scenarios for one world, one after the other, each played for a while where it is taken."""
    with in_process(round, round.random) as client:
        stage = ExampleRunner(client, round.dice("scenarios"), round.folder)
        client.control("POST", f"{CONTROL}/endpoints", {"url": "http://hooks.example/a"})
        for _ in round.steps(STEPS):
            stage.go_on()


class ExampleRunner:
    """Where scenarios are written and played."""

    def __init__(self, client: Client, dice: Random, folder: Path) -> None:
        self._client, self._dice, self._folder = client, dice, folder
        schema = json.loads((LIBRARY / "scenario.schema.json").read_text(encoding="utf-8"))
        known = Known()
        for name in CAST:
            for kind in ("terminal", "account", "location"):
                known.learn(kind, name)
        for name in ("partner", "merchant"):
            known.learn("key", name)
        self._schema = schema
        self._maker = Maker(schema, known, dice)
        self._library = sorted(LIBRARY.glob("*.toml"))

    def go_on(self) -> None:
        """Write a scenario, have it read as a file and over HTTP, and play it if it is taken."""
        written = self._written()
        spoiled, place = written, None
        if self._dice.random() < 0.6:
            place = self._dice.choice(places(written)[1:])
            spoiled = spoilt(written, self._dice, place)
            if self._verdict(written) is not None:
                # It had a mistake before, which may be the one that is named.
                place = None
        why_not = self._verdict(spoiled)
        self._check_file(spoiled, why_not)
        if why_not is not None and place is not None:
            _must_name(place, why_not)
        answer = self._put(spoiled)
        if answer.status != 200:
            self._client.round.counts["refused"] += 1
            self._check_refusal(spoiled, answer, why_not)
            return
        if why_not is not None and set(spoiled) != {"name"}:
            raise Found(f"a scenario was taken over HTTP, and not from a file: {why_not}")
        self._client.round.counts["loaded"] += 1
        self._play(spoiled)

    def _put(self, document: Document) -> Response:
        return self._client.control("PUT", f"{CONTROL}/scenario", document)

    # --- writing

    def _written(self) -> Document:
        """A scenario of the library, or one of a few rules."""
        if self._dice.random() < 0.25:
            path = self._dice.choice(self._library)
            return tomllib.loads(path.read_text(encoding="utf-8"))
        document: Document = {"name": "by chance"}
        rules = [self._rule(number) for number in range(self._dice.randint(1, 3))]
        document["rule"] = rules
        if self._dice.random() < 0.5:
            document["webhook"] = [
                {"when": self._when("WebhookWhen"), "then": copy.deepcopy(one)}
                for one in self._dice.sample(OF_WEBHOOKS, self._dice.randint(1, 2))
            ]
        return document

    def _rule(self, number: int) -> Document:
        dice = self._dice
        rule: Document = {}
        if dice.random() < 0.5:
            rule["name"] = dice.choice(["a rule", "é", "x" * 100, "rule;rule=2", f"r{number}"])
        if dice.random() < 0.2:
            rule["when"] = {"operation": "close_batch"}
            rule["then"] = copy.deepcopy(dice.choice(OF_BATCHES))
            return rule
        if dice.random() < 0.7:
            rule["when"] = self._when("When")
        rule["then"] = copy.deepcopy(dice.choice(THEN))
        if dice.random() < 0.15:
            rule["then"] = self._maker.value({"$ref": "#/$defs/Then"})
        return rule

    def _when(self, shape: str) -> Document:
        """One or two of the words that a rule can ask for."""
        fields = self._schema["$defs"][shape]["properties"]
        names = self._dice.sample(sorted(fields), self._dice.choice([0, 1, 1, 2]))
        return {name: self._maker.value(fields[name], name) for name in names}

    # --- refusals

    def _verdict(self, document: Document) -> str | None:
        """Why the scenario cannot be used, None where it can."""
        try:
            parse_scenario(document)
        except ScenarioError as error:
            if not str(error):
                raise Found("a scenario was refused without a word") from None
            return str(error)
        return None

    def _check_file(self, document: Document, why_not: str | None) -> None:
        """A file of it is refused for the same reason, and is named."""
        try:
            text = as_toml(document)
        except ValueError:
            return
        path = self._folder / "scenario.toml"
        path.write_text(text, encoding="utf-8")
        try:
            read_scenario(path)
        except ScenarioError as error:
            said = str(error)
            if said != f"{path}: {why_not}":
                raise Found(f"as a file: {said}; as a document: {why_not}") from None
            return
        if why_not is not None:
            raise Found(f"it is taken from a file, but not as a document: {why_not}")

    def _check_refusal(self, document: Document, answer: Response, why_not: str | None) -> None:
        said = answer.json()["message"]
        if answer.status != 400 or not said:
            raise Found(f"a scenario was refused with {answer.status}: {said!r}")
        if not _is_plain(document):
            return
        if why_not is None and not said.startswith(tuple(f"scenario: {one}" for one in LISTS)):
            raise Found(f"a scenario that reads well was refused, and no rule is named: {said}")
        if why_not is not None and said != f"scenario: {why_not}":
            raise Found(f"over HTTP: {said}; as a document: {why_not}")

    # --- playing

    def _play(self, document: Document) -> None:
        """Payments under the scenario: whatever comes of them, somebody wanted it."""
        rules = document.get("rule", [])
        for _ in range(ACTS):
            answer = self._act()
            if answer is not None and "source=scenario" in (
                chosen := answer.headers.get("x-sandbox-outcome", "")
            ):
                _must_follow_from(rules, chosen)
        for by in ("1s", "10m", "2h", "1d"):
            answer = self._client.control("POST", f"{CONTROL}/clock/advance", {"by": by})
            assert answer.status == 200, answer.body
        self._check_counts()
        page = payments.ask(self._client, "GET", "/v2/transactions", by="psp", query="limit=50")
        for tx in page.json()["transactions"]:
            if wrong := broken(record_of(self._client, tx["transaction_id"])):
                raise Found(f"{', '.join(wrong)} of {tx['transaction_id']}")
        self._client.round.counts["swept"] += 1

    def _act(self) -> Response | None:
        dice, client = self._dice, self._client
        listed = payments.ask(client, "GET", "/v2/transactions", by="psp", query="limit=10").json()
        found = listed["transactions"]
        what = dice.random()
        if client.waiting and what < 0.4:
            taps = client.control("GET", f"{CONTROL}/taps").json()["taps"]
            id = dice.choice(taps)["transaction_id"] if taps else "nothing"
            body = dice.choice([{"card": dice.choice(list(CARDS))}, {"cancel": "user"}])
            client.control("POST", f"{CONTROL}/taps/{id}", body)
            return None
        if what < 0.6 or not found:
            return payments.pay(
                client,
                dice.choice(AMOUNTS),
                at=dice.choice(CAST),
                operation="auth" if dice.random() < 0.4 else "sale",
                card=dice.choice([None, *CARDS]),
            )
        tx = dice.choice(found)
        if what < 0.7 and tx["batch_id"]:
            payments.close_batch(client, tx["batch_id"])
            return None
        operation = dice.choice(list(payments.PATHS))
        body = {"adjust": {"type": "fixed", "amount": 50}, "confirm": {"confirm": True}}
        return payments.act(
            client, tx["transaction_id"], operation, **body.get(operation, {"amount": 10})
        )

    def _check_counts(self) -> None:
        """No rule applied more often than it fitted, or than it may."""
        shown = self._client.control("GET", f"{CONTROL}/scenario").json()
        for one in (*shown["rules"], *shown["webhooks"]):
            if one["applied"] > one["fitted"]:
                raise Found(
                    f"rule {one['name']!r} fitted {one['fitted']}, applied {one['applied']}"
                )


def _must_follow_from(rules: list[Document], chosen: str) -> None:
    """Raises Found where the outcome is not the one that the rule named beside it has."""
    key = chosen.partition("; ")[0]
    name = chosen.partition("rule=")[2]
    numbered = {str(number): rule for number, rule in enumerate(rules, start=1)}
    named = {
        one["name"].encode("ascii", "replace").decode(): one for one in rules if one.get("name")
    }
    rule = named.get(name) or numbered.get(name)
    if rule is None:
        raise Found(f"{chosen!r} names no rule of the scenario")
    then = rule["then"]
    wanted = {then.get("outcome"), then.get("fault"), "approved"}
    # What is tapped may decide, where the rule does not.
    if "tap" not in then and then.get("outcome") and key not in wanted and key in OUTCOMES:
        raise Found(f"{chosen!r}, but the rule says {then['outcome']}")


def _must_name(place: tuple[Any, ...], why_not: str) -> None:
    """Raises Found where a refusal does not say in which part of the scenario the mistake is."""
    kind = place[0]
    if kind not in LISTS or len(place) == 1:
        return
    names_entry = why_not.startswith(f"{kind} {place[1] + 1}")
    names_list = len(place) <= 3 and why_not.startswith(kind)
    if not names_entry and not names_list:
        raise Found(f"the mistake is in {place}, and the refusal says: {why_not}")


def _is_plain(document: Document) -> bool:
    """Whether a scenario goes over HTTP as it is, is no mere name of one, and holds no secret."""
    try:
        text = json.dumps(document, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        return False
    is_whole = set(document) != {"name"} and len(text) < 1_000_000 and not _is_deep(document)
    return is_whole and not SECRET.search(text)


def _is_deep(value: Any, depth: int = 0) -> bool:
    if depth > 100:
        return True
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(_is_deep(one, depth + 1) for one in inner)


# --- TOML -------------------------------------------------------------------------------------


def as_toml(document: Document) -> str:
    """The document as TOML. Raises ValueError for what TOML has no word for."""
    return "".join(f"{_toml_text(name)} = {_toml(value)}\n" for name, value in document.items())


def _toml(value: Any) -> str:
    if value is None or _is_deep(value):
        raise ValueError("TOML has no null")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return _toml_text(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return "{" + ", ".join(f"{_toml_text(k)} = {_toml(v)}" for k, v in value.items()) + "}"


def _toml_text(text: str) -> str:
    text.encode()
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
