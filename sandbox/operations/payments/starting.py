"""Sale and preauthorization. Source: spec 4.4-paths-payments; details assumed 1.8, I1 to I10."""

from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from sandbox.domain.access import Need, need
from sandbox.domain.accounts import Account, AccountType
from sandbox.domain.faults import NOT_FOUND, VALIDATION_ERROR, Refusal
from sandbox.domain.locations import Location
from sandbox.domain.payments import initiating
from sandbox.domain.payments.cards import Card, card_of
from sandbox.domain.payments.initiating import Start
from sandbox.domain.payments.outcomes import (
    AFTER_PROMPT,
    APPROVED,
    MISCONFIGURED,
    OUTCOMES,
    Operation,
    Outcome,
    Verdict,
)
from sandbox.domain.payments.pricing import Place, Price, price
from sandbox.domain.payments.transactions import Origin, Transaction
from sandbox.domain.processors import PASSTHROUGH, gateway_of, processor_of
from sandbox.domain.terminals import Terminal
from sandbox.operations.call import Awaiting, Call
from sandbox.operations.payments import attempting, keeping
from sandbox.scenarios.choosing import Choice

if TYPE_CHECKING:
    from sandbox.operations.bodies.payments import StartPayment

_NEED_OF_PLATFORM = {"ios": need("payments:tap-ios"), "android": need("payments:tap-android")}
_EITHER = need("payments:tap-ios", "payments:tap-android")


def need_to_tap(sent: dict[str, Any]) -> Need:
    """The permission for the platform that the body tells, or shows. Source: assumed 1.9, D16."""
    platform = sent.get("platform")
    if platform is None and sent.get("apple_transaction_id"):
        platform = "ios"
    return _NEED_OF_PLATFORM.get(platform, _EITHER) if isinstance(platform, str) else _EITHER


def pay(call: Call) -> Any:
    """A sale, or an authorization where the body says so. Source: assumed 1.8-start."""
    body: StartPayment = call.body
    return _start(call, Operation(body.type or "sale"))


def preauthorize(call: Call) -> Any:
    """An authorization, whatever type the body says. Source: assumed 1.8-start."""
    return _start(call, Operation.AUTH)


def _start(call: Call, operation: Operation) -> Any:
    body: StartPayment = call.body
    place = _place(call, body)
    try:
        card = card_of(body.card_data)
    except ValueError as error:
        raise Refusal(
            VALIDATION_ERROR, f"card_reader_data: {error}", source="assumed 6.4-unknown"
        ) from None
    currency = _currency(body, place)
    account_id = place.account.id
    again = attempting.earlier_use(call, account_id, body.event_id, operation, body.amount)
    if again is not None:
        return again
    decision = _decide(call, operation, place, card)
    cost = _price(call, operation, place, card, decision)
    event_id = attempting.event_id_for(call, body.event_id)
    origin = _origin(call, operation, place, card, currency)
    choice = decision.choice
    tx = initiating.created(
        origin,
        cost,
        event_id,
        armed=choice.arms if choice else None,
        settlement=choice.settlement if choice else None,
    )
    call.unit.put(tx)
    call.emit("transaction.create", tx)
    return Awaiting(
        attempting.delay_ms(call, choice, decision.outcome) if choice else 0,
        partial(_finish, origin.transaction_id, cost, decision),
        origin.transaction_id,
        choice.fault if choice else None,
    )


# --- where ------------------------------------------------------------------------------------


def _place(call: Call, body: "StartPayment") -> Place:
    """Account, terminal and location of the sale. Source: assumed 1.8-where, D16.

    What is named was found visible before.
    """
    if body.terminal_id is None and body.location_id is None and body.account_id is None:
        raise _invalid("terminal_id, location_id or account_id is required", "assumed 1.8-where")
    location = call.unit.get(Location, body.location_id) if body.location_id else None
    terminal_id = body.terminal_id
    if terminal_id is None and location is not None:
        terminal_id = location.terminal_id
        if terminal_id is None:
            raise _invalid("location_id: the location has no terminal", "assumed 1.8-where")
    if terminal_id is None:
        terminal = _only_terminal(call, body.account_id)
    else:
        found = call.unit.get(Terminal, terminal_id)
        if found is None or found.deleted_at is not None:
            raise Refusal(NOT_FOUND, reason=f"terminal {terminal_id} is gone", step="target")
        terminal = found
    account = call.unit.get(Account, terminal.account_id)
    assert account
    if body.account_id is not None and body.account_id != account.id:
        raise _invalid("account_id: the terminal belongs to another account", "assumed 1.8-where")
    if account.type is not AccountType.MERCHANT:
        raise _invalid("the terminal's account is not a merchant", "assumed 1.8-merchant")
    if location is None:
        location = _location_of(call, terminal)
    elif location.account_id != account.id:
        raise _invalid("location_id: belongs to another account", "assumed 1.8-where")
    return Place(account, terminal, location)


def _only_terminal(call: Call, account_id: str | None) -> Terminal:
    found, _ = call.unit.find(Terminal, {"account": account_id or ""})
    active = [terminal for terminal in found if terminal.status == "active"]
    if len(active) != 1:
        raise _invalid(
            f"account_id: has {len(active)} active terminals; name one with terminal_id",
            "assumed 1.8-where",
        )
    return active[0]


def _location_of(call: Call, terminal: Terminal) -> Location | None:
    """The location that points at the terminal, when exactly one does (assumed D16)."""
    found, total = call.unit.find(Location, {"terminal": terminal.terminal_id}, limit=2)
    return found[0] if total == 1 else None


def _currency(body: "StartPayment", place: Place) -> str:
    """The currency of the location, else of the terminal; a client may only agree with it."""
    location = place.location.currency if place.location else None
    terminal = place.terminal.currency_code
    # A VAR sheet names currencies by number; those say nothing here (assumed 7.2).
    named = location or (terminal if terminal and terminal.isalpha() else None)
    if named is not None and body.currency not in (None, named):
        raise _invalid(f"currency: must be {named} here", "assumed 1.8-currency")
    return body.currency or named or "USD"


def _invalid(details: str, source: str) -> Refusal:
    return Refusal(VALIDATION_ERROR, details, source=source, step="rule")


# --- what happens -----------------------------------------------------------------------------


@dataclass(slots=True)
class _Decision:
    """How the initiation will end, decided before its record exists.

    `choice` is None where nobody was asked: a passthrough or misconfigured terminal.
    """

    outcome: Outcome
    choice: Choice | None = None
    is_passthrough: bool = False
    is_misconfigured: bool = False


def _decide(call: Call, operation: Operation, place: Place, card: Card) -> _Decision:
    body: StartPayment = call.body
    if problem := _misconfiguration(place):
        call.decided("outcome", MISCONFIGURED.key, problem, "assumed I10")
        terminal_id = place.terminal.terminal_id
        call.choice = Choice(MISCONFIGURED, "terminal", terminal_id)
        return _Decision(MISCONFIGURED, is_misconfigured=True)
    if processor_of(place.terminal.processor_config_id) == PASSTHROUGH:
        call.decided("outcome", "pending", "the processor is told of later", "assumed I7")
        return _Decision(APPROVED, is_passthrough=True)
    choice = attempting.decide(
        call,
        operation,
        amount=body.amount,
        card_token=card.token,
        terminal_id=place.terminal.terminal_id,
    )
    return _Decision(choice.outcome, choice)


def _misconfiguration(place: Place) -> str | None:
    """Why no processor would take a sale from here; None when one would. Source: assumed I10."""
    terminal, location = place.terminal, place.location
    if terminal.status == "blocked":
        return "the terminal is blocked"
    if location is not None and location.status == "blocked":
        return "the location is blocked"
    missing = [
        name for name in ("mid", "tid", "processor_config_id") if not getattr(terminal, name)
    ]
    return f"the terminal has no {' and no '.join(missing)}" if missing else None


_PROMPTS = AFTER_PROMPT | {"surcharge_prompt"}


def _price(
    call: Call, operation: Operation, place: Place, card: Card, decision: _Decision
) -> Price:
    """The price; a prompt that was asked for and cannot be shown is an ordinary approval."""
    body: StartPayment = call.body
    is_sale = operation is Operation.SALE
    try:
        cost = price(
            body.amount,
            body.breakdown.parts() if body.breakdown else None,
            place,
            is_sale=is_sale,
            is_credit=card.is_credit,
            forces_prompt=is_sale and decision.outcome.key in _PROMPTS,
        )
    except ValueError as error:
        raise _invalid(str(error), "assumed 1.8-sum") from None
    if decision.outcome.verdict is Verdict.SURCHARGE_PENDING:
        decision.outcome = APPROVED
        if not cost.needs_prompt and decision.choice is not None:
            decision.choice.outcome = APPROVED
            decision.choice.near_misses.append(
                "surcharge_prompt: nothing can be surcharged here (the card, the state, the "
                "operation, or what the request states)"
            )
    return cost


def _origin(call: Call, operation: Operation, place: Place, card: Card, currency: str) -> Origin:
    body: StartPayment = call.body
    account, terminal, location = place.account, place.terminal, place.location
    processor = processor_of(terminal.processor_config_id)
    device = body.device_id or body.reader_identifier or device_of(terminal.terminal_id)
    return Origin(
        transaction_id=call.world.draws.uuid(),
        operation=operation,
        account_id=account.id,
        parent_account_ids=account.parent_account_ids,
        terminal_id=terminal.terminal_id,
        processor_mid=terminal.mid,
        processor_tid=terminal.tid,
        location_id=location.id if location else None,
        processor=processor,
        gateway=gateway_of(processor),
        currency=currency,
        device_id=device,
        reader_identifier=body.reader_identifier or device,
        apple_transaction_id=body.apple_transaction_id or "",
        payment_method=body.payment_method or "contactlessIcc",
        card_token=card.token,
        card_type=card.type,
        card_brand=card.brand,
        card=card.masked,
        merchant_name=terminal.merchant_name or account.name,
        mcc=terminal.merchant_category_code or account.mcc,
        created_at=call.now_ms,
        details=body.additional_details,
    )


@lru_cache(maxsize=4096)
def device_of(terminal_id: str) -> str:
    """The device of a terminal where a client names none: 64 hex digits. Source: assumed 7.1."""
    return blake2b(terminal_id.encode(), digest_size=32).hexdigest()


def _finish(
    transaction_id: str, cost: Price, decision: _Decision, call: Call, key_was_lost: bool
) -> Transaction:
    """The second breath: the processor has answered."""
    tx = call.unit.get(Transaction, transaction_id)
    if tx is None or tx.status != "pending":
        raise Refusal(NOT_FOUND, reason="the world was reset while the payment was waiting")
    outcome = OUTCOMES["payment_failed"] if key_was_lost else decision.outcome
    choice = decision.choice
    start = Start(
        tx,
        cost,
        outcome,
        is_passthrough=decision.is_passthrough,
        is_misconfigured=decision.is_misconfigured,
        approved_amount=choice.approved_amount if choice else None,
    )
    if initiating.resolves_prompt(start):
        conclusion = initiating.prompt_and_resolve(start, call.now_ms)
        keeping.keep(call, conclusion, tx)
        return conclusion.shown
    taken = initiating.move_for(start)
    batch = keeping.batch_for_entry(call, tx) if taken.joins else None
    conclusion = initiating.conclude(
        start, taken, at=call.now_ms, batch_id=batch.id if batch else None
    )
    keeping.keep(call, conclusion, tx, batch)
    return conclusion.shown
