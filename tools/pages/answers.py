"""The possible answers and their causes: outcomes, transport faults, cards, amounts."""

from typing import Final

from sandbox.domain.payments.cards import CARD_FIELD, CARDS, DEFAULT_CARD, READER_FIELD, Card
from sandbox.domain.payments.outcomes import (
    AFTER_PROMPT,
    FIRST_AMOUNT,
    FORCED_RULES,
    INITIATING,
    LAST_AMOUNT,
    OUTCOMES,
    PARTIAL,
    TRIGGERS,
    Operation,
    Outcome,
    Trigger,
    for_operation,
)
from sandbox.domain.transport_faults import SLOW_MS, TRANSPORT_FAULTS
from tools.pages.markdown import NONE, code, dollars, listed, page, table

_STARTS: Final = [one for one in Operation if one in INITIATING]


def outcomes() -> str:
    """Return the catalogue of outcomes, and the transport faults."""
    head = (
        *("key", "for", "status", "reason", "code", "message", "host code", "approval code"),
        *("gateway id", "latency", "retry", "clause"),
    )
    return page(
        "Outcomes",
        "The answers of a processor, one line each. The keys are stable; [cards](cards.md) and\n"
        "[amounts](triggers.md) choose them. If one of these chooses an outcome that the\n"
        "operation cannot have, the operation is approved (assumed 5.1).",
        f"There are {len(OUTCOMES)} outcomes. `ok` is the operation's own success. An outcome\n"
        "without a code means that no answer came. `gateway id`: whether a first attempt gets\n"
        "one. `latency` is nominal: the switch `latency.scale` says how much of it a request\n"
        "waits. `retry`: whether to try the same again (same), another card or amount (other), to\n"
        "fix something first (fix), to look up the event_id first (recon), or not at all (no).\n\n"
        "A sale that cannot be surcharged is approved with `surcharge_prompt`, or refused if the\n"
        f"header names it (assumed D41). At a sale, {listed(sorted(AFTER_PROMPT))}\n"
        "show the prompt and answer it themselves. If none is possible, they only cancel.\n"
        f"{listed(sorted(FORCED_RULES))}\n"
        "give the answer of the rule failure of that name ([transactions](transactions.md)).\n",
        table(head, [_outcome(row) for row in OUTCOMES.values()]),
        "## Transport faults\n",
        "Failures between client and platform, for any operation (assumed 5.3).\n",
        table(
            ("key", "what happens", "the payment", "default"),
            [
                (
                    code(fault.key),
                    fault.effect,
                    "nothing is recorded" if fault.when == "before" else "recorded as usual",
                    f"{SLOW_MS} ms" if fault.key == "slow" else NONE,
                )
                for fault in TRANSPORT_FAULTS.values()
            ],
        ),
    )


def _operations(key: str) -> str:
    """Return the operations for which an outcome can be chosen."""
    found = [one for one in Operation if for_operation(key, one) is not None]
    return "any" if len(found) == len(Operation) else ", ".join(found)


def _outcome(row: Outcome) -> tuple[str, ...]:
    found = for_operation(row.key, Operation.INCREMENT)
    other = found.status_reason if found and found.status_reason != row.status_reason else None
    special = {
        "5.2-forced": row.key in FORCED_RULES,
        "5.2-prompt": row.key in AFTER_PROMPT,
        "5.2-increment": other is not None,
    }
    return (
        code(row.key),
        _operations(row.key),
        row.verdict,
        f"{row.status_reason}; {Operation.INCREMENT}: {other}" if other else row.status_reason,
        code(row.response_code),
        row.message or NONE,
        code(row.host_code),
        "yes" if row.has_approval_code else "no",
        "yes" if row.has_gateway_id else "no",
        f"{row.latency_ms} ms",
        row.retry,
        ", ".join(("assumed 5.2", *(clause for clause, holds in special.items() if holds))),
    )


def cards() -> str:
    """Return the test cards."""
    rows = [
        (code(card.token), code(card.pan), code(card.masked), card.brand, card.type, _does(card))
        for card in CARDS.values()
    ]
    return page(
        "Test cards",
        f"Send the token or the number as `{READER_FIELD}.{CARD_FIELD}`. The numbers are\n"
        "published for tests and are not real cards (assumed 6.4). Any other card number is\n"
        f"refused. Any other text represents a reader's data and means `{DEFAULT_CARD.token}`.\n"
        "The last column names [outcomes](outcomes.md). If a card does not choose one, the\n"
        "[amount](triggers.md) does, and otherwise the payment is approved.",
        table(("token", "number", "shown as", "brand", "type", "what it does"), rows),
    )


def _does(card: Card) -> str:
    """Return the effect of a card, in words."""
    notes = []
    if card.outcome is not None:
        notes.append(f"{' and '.join(_STARTS)}: {code(card.outcome)}")
    if card.limit is not None:
        limit = dollars(card.limit)
        notes.append(f"{' and '.join(_STARTS)} above {limit}: {code(PARTIAL.key)}, of {limit}")
    notes += [f"{operation}: {code(key)}" for operation, key in card.later.items()]
    notes = notes or ["does not choose"]
    if not card.is_credit:
        notes.append("never surcharged")
    return "; ".join(notes)


def triggers() -> str:
    """Return the amounts that choose an outcome."""
    rows = [
        (code(str(row.amount)), dollars(row.amount), row.kind, row.about, _followed_by(row))
        for _, row in sorted(TRIGGERS.items())
    ]
    return page(
        "Amounts that choose an outcome",
        f"They are between {dollars(FIRST_AMOUNT)} and {dollars(LAST_AMOUNT)}. Any other amount\n"
        "is ordinary. The amount in the request counts, before automatic tax and surcharge\n"
        "(assumed 6.2-amount). Other choices, such as a [card](cards.md), come first (assumed\n"
        "D4). The switch `triggers.enabled` turns all of them off. [Outcomes](outcomes.md)\n"
        "explains outcomes and faults, [batches](batches.md) the results of settlement.",
        table(("amount", "in dollars", "kind", "what happens", "for"), rows),
    )


def _followed_by(row: Trigger) -> str:
    """Return the operations for which an amount chooses the outcome."""
    if row.kind == "outcome":
        return _operations(row.key)
    return "any" if row.kind == "fault" else ", ".join(_STARTS)
