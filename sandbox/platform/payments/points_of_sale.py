"""The point of sale of a payment: account, terminal and location, and what follows from them.

Source: assumed 1.8-where, D16; device and processor assumed 7.1.
"""

from functools import lru_cache
from hashlib import blake2b

from sandbox.domain.currencies import in_letters
from sandbox.domain.directory import Account, AccountType, Location, Terminal, processor_of
from sandbox.domain.faults import NOT_FOUND, VALIDATION_ERROR, Refusal
from sandbox.domain.payments.pricing import PointOfSale
from sandbox.domain.payments.transactions import Payment
from sandbox.platform.access import blocked_account
from sandbox.platform.context import OperationContext
from sandbox.platform.payments.bodies import StartPayment
from sandbox.store.store import UnitOfWork


class KnownPlace(PointOfSale, frozen=True, kw_only=True, gc=False):
    """A place, its currency and processor, and why a processor would refuse sales from it.

    `problem` is that reason and its clause.
    """

    currency: str
    processor: str
    problem: tuple[str, str] | None

    @property
    def account_id(self) -> str:
        """The merchant's account."""
        return self.account.id

    @property
    def location_id(self) -> str | None:
        """The location, if it is known."""
        return self.location.id if self.location else None


def find(context: OperationContext, body: StartPayment) -> KnownPlace:
    """Return the place that a body names. Its parts were checked to be visible before.

    If the body names none, it is the merchant account of the key (assumed D27). Raises Refusal if
    the parts do not belong together.
    """
    terminal_id, location_id, account_id = body.terminal_id, body.location, body.account_id
    if terminal_id is None and location_id is None and account_id is None:
        account_id = _own_account(context)
    location = context.unit.get(Location, location_id) if location_id else None
    if terminal_id is None and location is not None:
        terminal_id = location.terminal_id
        if terminal_id is None:
            raise invalid("location_id: the location has no terminal", "assumed 1.8-where")
    if terminal_id is None:
        terminal = _only_terminal(context, account_id or "")
    else:
        found = context.unit.get(Terminal, terminal_id)
        if found is None or found.deleted_at is not None:
            raise Refusal(NOT_FOUND, reason=f"terminal {terminal_id} is gone", step="target")
        terminal = found
    account = context.unit.get(Account, terminal.account_id)
    assert account
    if account_id is not None and account_id != account.id:
        raise invalid("account_id: the terminal belongs to another account", "assumed 1.8-where")
    if account.type is not AccountType.MERCHANT:
        raise invalid("the terminal's account is not a merchant", "assumed 1.8-merchant")
    if location is None:
        location = _location_of(context.unit, terminal)
    elif location.account_id != account.id:
        raise invalid("location_id: belongs to another account", "assumed 1.8-where")
    return KnownPlace(
        account=account,
        terminal=terminal,
        location=location,
        currency=_currency(terminal, location),
        processor=processor_of(terminal.processor_config_id),
        problem=_problem(context, account, terminal, location),
    )


def _own_account(context: OperationContext) -> str:
    own = context.known_caller.account
    if own.type is not AccountType.MERCHANT:
        raise invalid(
            "terminal_id, location_id or account_id is required: the key's own account is not a "
            "merchant",
            "assumed D27",
        )
    context.explain("rule", "own account", "the body names no place", "assumed D27")
    return own.id


def _only_terminal(context: OperationContext, account_id: str) -> Terminal:
    found, _ = context.unit.find(Terminal, {"account": account_id})
    active = [terminal for terminal in found if terminal.status == "active"]
    if len(active) != 1:
        raise invalid(
            f"account_id: the account has {len(active)} active terminals; name one with "
            "terminal_id",
            "assumed 1.8-where",
        )
    return active[0]


def _location_of(unit: UnitOfWork, terminal: Terminal) -> Location | None:
    """Return the location that points at the terminal, if exactly one does (assumed D16)."""
    found = unit.all_with(Location, "terminal", terminal.terminal_id)
    return found[0] if len(found) == 1 else None


def currency_at(unit: UnitOfWork, terminal: Terminal) -> str:
    """Return the currency, in letters, of payments that name this terminal and no location."""
    return _currency(terminal, _location_of(unit, terminal))


def _problem(
    context: OperationContext, account: Account, terminal: Terminal, location: Location | None
) -> tuple[str, str] | None:
    """Return why a processor would refuse a sale from here, with the clause, or None."""
    if terminal.status == "blocked":
        return "the terminal is blocked", "assumed I10"
    if location is not None and location.status == "blocked":
        return "the location is blocked", "assumed I10"
    if not (terminal.mid and terminal.tid and terminal.processor_config_id):
        needed = ("mid", "tid", "processor_config_id")
        missing = [name for name in needed if not getattr(terminal, name)]
        return f"the terminal has no {' and no '.join(missing)}", "assumed I10"
    if context.world.readings["block_answer"] == "invalid_terminal":
        above = blocked_account(context, account)
        if above is not None:
            return f"account {above.id} ({above.name}) is blocked", "assumed D35-block-answer"
    return None


@lru_cache(maxsize=1_000)
def device_of(terminal_id: str) -> str:
    """Return the device of a terminal, if the client names none: 64 hex digits."""
    return blake2b(terminal_id.encode(), digest_size=32).hexdigest()


def _currency(terminal: Terminal, location: Location | None) -> str:
    """Return the currency of the location, else of the terminal, in letters.

    Source: assumed 1.8-currency.

    A VAR sheet names currencies by number (assumed 7.2, D30).
    """
    return in_letters((location.currency if location else None) or terminal.currency_code)


def must_allow_surcharge(context: OperationContext, payment: Payment) -> None:
    """Raise Refusal where the state of the sale allows no surcharge. Source: assumed 2.8-never."""
    tx, unit = payment.transaction, context.unit
    account, terminal = unit.get(Account, tx.account_id), unit.get(Terminal, tx.tid)
    assert account
    assert terminal
    location = unit.get(Location, tx.location_id) if tx.location_id else None
    place = PointOfSale(account=account, terminal=terminal, location=location)
    if not place.may_surcharge:
        about = f"breakdown.surcharge: nothing is surcharged in {place.state}"
        raise invalid(about, "assumed 2.8-never")


def invalid(details: str, source: str) -> Refusal:
    """Return the refusal of a body whose parts do not belong together, or to the place."""
    return Refusal(VALIDATION_ERROR, details, source=source, step="rule")
