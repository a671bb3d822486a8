"""The line that a command prints about a payment or a batch, with what may come next."""

from collections.abc import Mapping
from typing import Any, Final

from sandbox.cli.amounts import in_units
from sandbox.cli.output import Styled, counted, say_parts, styled
from sandbox.cli.platform_client import Reply

_SHORT: Final = 8
"""So many characters of an id are enough to name it in a command."""

_COLORS: Final = {
    **dict.fromkeys(("captured", "authorized", "settled", "accepted"), "green"),
    **dict.fromkeys(("declined", "error", "rejected"), "red"),
}
_NEXT: Final[Mapping[str, str]] = {
    "authorized": "sandbox capture {id}",
    "captured": "sandbox batch close {batch}",
    "settled": "sandbox refund {id}",
    "pending": "sandbox tap",
    "surcharge_pending": "sandbox confirm {id} yes",
    **dict.fromkeys(("declined", "error"), "sandbox tail --no-follow --limit 1"),
}
"""What one usually does with a payment of this status; nothing if it is not here."""


def show_payment(reply: Reply, payment: Mapping[str, Any], who: str | None = None) -> None:
    """Print a payment in one line, which a narrow terminal wraps between its parts.

    The parts are its id, status and reason, amounts, card, and the next step. If it failed, the
    line says what chose the outcome. `who` is the member to name in the next step.
    """
    status = payment["status"]
    reason = payment["status_reason"]
    ended = f"{status}: {reason}" if reason not in (None, status) else status
    parts: list[str | Styled] = [
        payment["transaction_id"],
        styled(ended, fg=_COLORS[status]) if status in _COLORS else ended,
        _amounts(payment),
        f"{payment['card_brand']} {payment['card']}",
    ]
    if status in ("declined", "error") and reply.outcome:
        parts.append(_chosen_by(reply.outcome))
    parts.extend(_next(payment, who))
    say_parts(parts)


def show_batch(batch: Mapping[str, Any]) -> None:
    """Print a batch in one line, as `show_payment` does."""
    status = batch["status"]
    parts: list[str | Styled] = [
        batch["id"],
        styled(status, fg=_COLORS[status]) if status in _COLORS else status,
        counted(batch["transaction_count"], "payment"),
        f"captured {in_units(batch['captured_amount'])}",
        f"refunded {in_units(batch['refunded_amount'])}",
    ]
    if (why := rejection_summary(batch)) is not None:
        parts.append(why)
    if status == "submitted":
        parts.append("next: sandbox clock advance 1m, sandbox batch list")
    say_parts(parts)


def rejection_summary(batch: Mapping[str, Any]) -> str | None:
    """What the processor said of a batch, in one text; None if it said nothing."""
    response = batch["response"] or {}
    return ", ".join(str(value) for value in response.values()) or None


def _amounts(payment: Mapping[str, Any]) -> str:
    currency = payment["currency"]
    total = f"{in_units(payment['total_amount'], currency)} {currency}"
    details = payment["additional_details"]
    notes = []
    if "remaining_amount" in details:
        notes.append(f"{in_units(details['remaining_amount'], currency)} still to pay")
    for name in ("tax_amount", "tip_amount", "surcharge_amount", "refunded", "reversed"):
        if payment[name]:
            word = name.removesuffix("_amount")
            notes.append(f"{word} {in_units(payment[name], currency)}")
    return f"{total} ({', '.join(notes)})" if notes else total


def _chosen_by(outcome: str) -> str:
    """`insufficient_funds; source=amount; rule=900051` in words."""
    key, *rest = outcome.split("; ")
    named = dict(part.split("=", 1) for part in rest if "=" in part)
    source = named.get("source", "")
    rule = named.get("rule", "").removeprefix(f"{source}:")
    by = f"{source} {rule}" if rule not in ("", source) else source
    return f"{key}, chosen by the {by}" if by else key


def _next(payment: Mapping[str, Any], who: str | None) -> list[str]:
    remaining = payment["additional_details"].get("remaining_amount")
    if remaining and payment["status"] in ("captured", "authorized"):
        return [f"next: sandbox pay {in_units(remaining, payment['currency'])}{_as(who)}"]
    step = _NEXT.get(payment["status"])
    if step is None:
        return []
    batch = (payment["batch_id"] or "")[:_SHORT]
    return ["next: " + step.format(id=payment["transaction_id"][:_SHORT], batch=batch).rstrip()]


def _as(who: str | None) -> str:
    return f" --as {who}" if who else ""
