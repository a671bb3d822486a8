"""Reconciliation: the transactions of a world compared with those of a tester's file.

The file is CSV with a header, or JSON: a list of objects, which may be under `transactions`. A row
names a transaction, an attempt by its event_id, or both. Source: assumed D57.
"""

import csv
import io
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace
from pydantic import Field
from pydantic_core import from_json

from sandbox.control.context import ControlFault, ControlRequest, invalid, parse_words
from sandbox.control.models import Body, View, Words, shows
from sandbox.control.routing import WORLD, post
from sandbox.domain.batches import Batch
from sandbox.domain.directory import Account
from sandbox.domain.payments.transactions import STATUSES, Payment
from sandbox.domain.text import did_you_mean, nearest
from sandbox.store.tables import OLDEST_FIRST
from sandbox.worlds.background import run_in_thread

IDS: Final = ("transaction_id", "event_id")
COLUMNS: Final = (*IDS, "amount", "status")
ROWS_MAX: Final = 20_000
_WORD_CHARS_MAX: Final = 100
_ALIKE: Final = 0.8
"""How similar to a known column an unknown one must be to count as a misspelling of it."""


class ReconciliationBody(Body, example={"text": "transaction_id,amount,status\n"}):
    """A file, and which transactions of the world it should have: all, or those that match.

    `account` is an id or a name of the cast, `batch` an id. `status` is one or several words,
    separated by commas.
    """

    text: Annotated[str, Field(min_length=1)]
    account: Words | None = None
    batch: Words | None = None
    status: Words | None = None


_Ids = tuple[str | None, str | None]
"""A transaction_id and an event_id. One of them may be None."""

DifferenceKind = Literal["missing_here", "missing_there", "other_amount", "other_status"]


class _Entry(Struct, frozen=True, gc=False):
    """A transaction or one of its attempts, there or here. None means not stated."""

    line: int | None
    transaction_id: str | None
    event_id: str | None
    amount: int | None
    status: str | None


@shows(_Entry, without=("amount", "status"))
class DifferenceView(View):
    """A difference. `line` is that of the file, null for what the file lacks.

    `there` is what the file has, and `here` what the sandbox has; an amount is in minor units.
    """

    kind: DifferenceKind
    line: int | None
    there: int | str | None
    here: int | str | None


class ReconciliationView(View):
    """The result: the rows of the file, those without a difference, and the differences.

    `ignored_columns` are columns of the file that were not compared.
    """

    rows: int
    matched: int
    counts: dict[str, int]
    ignored_columns: list[str]
    differences: list[DifferenceView]


@post(f"{WORLD}/reconciliation", "payments.reconcile")
async def reconcile(request: ControlRequest, body: ReconciliationBody) -> ReconciliationView:
    """Compare the transactions of a world with those of a file."""
    statuses = parse_words("status", body.status, STATUSES)
    where = {"scope": request.find_id(Account, body.account)}
    if body.batch is not None and request.world.store.get(Batch, body.batch) is None:
        raise invalid(f"batch: the world has no batch with the id {body.batch[:80]!r}")
    payments, _ = request.world.store.begin().find(Payment, where, order=OLDEST_FIRST)
    theirs, ignored = await run_in_thread(_read, body.text)
    wanted = [one for one in payments if body.batch in (None, one.batch_id)]
    compared = _compare(theirs, payments, wanted, statuses)
    differences: list[DifferenceView] = await run_in_thread(list, compared)
    wrong = {one.line for one in differences if one.line is not None}
    return ReconciliationView(
        rows=len(theirs),
        matched=len(theirs) - len(wrong),
        counts=dict(Counter(one.kind for one in differences)),
        ignored_columns=ignored,
        differences=differences,
    )


# --- comparison -------------------------------------------------------------------------------


def _summarize(payment: Payment) -> _Entry:
    tx = payment.transaction
    return _Entry(None, payment.id, tx.event_id, tx.total_amount, tx.status)


def _attempts(payment: Payment) -> list[_Entry]:
    """Return the attempts, one for each event_id: a creation and its outcome are one.

    An attempt with its own record is left out: it belongs to that record.
    """
    found = {
        one.event_id: _Entry(None, payment.id, one.event_id, one.amount, one.status)
        for one in payment.history
        if one.event_id not in payment.recorded
    }
    if (last := payment.transaction.event_id) in found:
        # Settling is not an attempt, but changes the status.
        found[last] = replace(found[last], status=payment.status)
    return list(found.values())


def _index(payments: Sequence[Payment]) -> tuple[dict[_Ids, _Entry], set[str | None]]:
    """Return what is here by its ids, and the event_ids that several transactions have.

    An event_id is unique within a merchant account. Source: assumed 2.6.
    """
    known: dict[_Ids, _Entry] = {}
    shared: set[str | None] = set()
    for one in payments:
        known[one.id, None] = _summarize(one)
        for entry in _attempts(one):
            if (None, entry.event_id) in known:
                shared.add(entry.event_id)
            known[one.id, entry.event_id] = known[None, entry.event_id] = entry
    return known, shared


def _compare(
    theirs: Sequence[_Entry],
    payments: Sequence[Payment],
    wanted: Sequence[Payment],
    statuses: Collection[str],
) -> Iterator[DifferenceView]:
    """Yield the differences; `wanted` are the payments that the file should have."""
    by_event = bool(theirs) and all(one.event_id is not None for one in theirs)
    known, shared = _index(payments)
    named: set[_Ids] = set()
    for there in theirs:
        if there.transaction_id is None and there.event_id in shared:
            about = f"several transactions have the event_id {there.event_id!r}"
            remedy = "add the transaction_id, or name an account"
            raise invalid(f"text: line {there.line}: {about}; {remedy}")
        here = known.get((there.transaction_id, there.event_id))
        if here is None:
            yield DifferenceView.of(there, kind="missing_here", there=there.amount, here=None)
            continue
        named |= {(here.transaction_id, here.event_id), (here.transaction_id, None)}
        for kind, name in (("other_amount", "amount"), ("other_status", "status")):
            said, known_here = getattr(there, name), getattr(here, name)
            if said not in (None, known_here):
                yield DifferenceView.of(there, kind=kind, there=said, here=known_here)
    ours = (one for each in wanted for one in (_attempts(each) if by_event else [_summarize(each)]))
    for entry in ours:
        is_named = (entry.transaction_id, entry.event_id if by_event else None) in named
        if not is_named and (not statuses or entry.status in statuses):
            yield DifferenceView.of(entry, kind="missing_there", there=None, here=entry.amount)


# --- the file ---------------------------------------------------------------------------------


def _read(text: str) -> tuple[list[_Entry], list[str]]:
    """Return the rows of the file, and the columns that are not compared. Raises ControlFault."""
    text = text.removeprefix("\ufeff")
    is_json = text.lstrip().startswith(("[", "{"))
    rows = list(_json_rows(text) if is_json else _csv_rows(text))
    if len(rows) > ROWS_MAX:
        raise invalid(f"text: has {len(rows)} rows, and at most {ROWS_MAX} are compared")
    ignored: dict[str, None] = {}
    entries: list[_Entry] = []
    lines: dict[_Ids, int] = {}
    for line, row in rows:
        for name in row:
            # A spreadsheet ends each line with separators if a cell further right was once used.
            if name in COLUMNS or not name:
                continue
            for near in get_close_matches(name, COLUMNS, n=1, cutoff=_ALIKE):
                # It is probably a misspelling of a column that the file lacks.
                if near not in row:
                    raise _at(line, f"there is no column {name[:_WORD_CHARS_MAX]!r}", name, COLUMNS)
            ignored[name[:_WORD_CHARS_MAX]] = None
        entry = _entry(line, row)
        ids = (entry.transaction_id, entry.event_id)
        if (earlier := lines.setdefault(ids, line)) != line:
            raise _at(line, f"names the same as line {earlier}")
        entries.append(entry)
    return entries, list(ignored)


def _entry(line: int, row: Mapping[str, Any]) -> _Entry:
    values = {name: row.get(name) for name in COLUMNS}
    for name, value in values.items():
        if isinstance(value, str):
            values[name] = value.strip() or None
        elif name != "amount" and value is not None:
            raise _at(line, f"{name}: must be text")
    transaction_id, event_id, amount, status = values.values()
    if transaction_id is None and event_id is None:
        raise _at(line, "has neither transaction_id nor event_id; one of them is needed")
    if isinstance(amount, str) and amount.isascii() and amount.isdecimal():
        amount = int(amount[:_WORD_CHARS_MAX])
    if amount is not None and (type(amount) is not int or amount < 0):
        shown = str(amount)[:_WORD_CHARS_MAX]
        raise _at(line, f"amount: {shown!r} is not a whole number of minor units, such as 1000")
    if status is not None and status not in STATUSES:
        about = f"status: {status[:_WORD_CHARS_MAX]!r} is not a known status"
        raise _at(line, about, status, STATUSES)
    return _Entry(line, transaction_id, event_id, amount, status)


def _at(line: int, about: str, word: str = "", known: Sequence[str] = ()) -> ControlFault:
    """Return the refusal of a file, with the line and the known word that was probably meant."""
    message = f"text: line {line}: {about}{did_you_mean(word, known)}"
    return invalid(message, nearest(word, known) if word else None)


def _csv_rows(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows with their lines; commas or semicolons separate the columns."""
    header, _, _ = text.partition("\n")
    delimiter = ";" if ";" in header and "," not in header else ","
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    try:
        names = [name.strip().lower() for name in next(reader)]
        for name in names:
            if name in COLUMNS and names.count(name) > 1:
                raise _at(1, f"has the column {name} twice")
        if set(names).isdisjoint(IDS):
            near = next((name for name in names if nearest(name, IDS)), "".join(names[:1]))
            about = f"has no column {' or '.join(IDS)}; it has {near[:_WORD_CHARS_MAX]!r}"
            raise _at(1, about, near, IDS)
        for row in filter(any, reader):
            if len(row) != len(names):
                raise _at(reader.line_num, f"has {len(row)} values for {len(names)} columns")
            yield reader.line_num, dict(zip(names, row, strict=True))
    except (csv.Error, StopIteration) as error:
        raise _at(reader.line_num or 1, f"is not CSV: {error or 'the file is empty'}") from None


def _json_rows(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects with their numbers, from 1."""
    try:
        document = from_json(text)
    except ValueError as error:
        raise invalid(f"text: is not JSON: {error}") from None
    rows = document.get("transactions") if isinstance(document, dict) else document
    if not isinstance(rows, list):
        raise invalid("text: must be a list of objects, or have one under transactions")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise _at(number, "is not an object")
        yield number, row
