"""The records of a table in memory: a dictionary by id, and one for each lookup."""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

from sandbox.domain.clock import Timer
from sandbox.store import tables
from sandbox.store.tables import DuplicateValue, Row, Table, having, set_of, values_in

FEW: Final = 8
"""Up to one in this many records are sorted; of more than that, all are gone through in order."""


class Records:
    """The records of one table. `accounts` are the records of the accounts, for scopes.

    `numbers` give the order of first puts, which is that of `by_id`. Files store them.
    """

    def __init__(self, table: Table, accounts: "Records | None" = None) -> None:
        self.table = table
        within = f"{table.within}." if table.within else ""
        self.id_of: Callable[[Row], str] = attrgetter(within + table.key)
        self._accounts = accounts or self
        self._has_deleted = "deleted_at" in table.kind.__struct_fields__
        self.forget()

    def forget(self) -> None:
        """Remove all records."""
        self.by_id: dict[str, Any] = {}
        self.numbers: dict[str, int] = {}
        self._next_number = 0
        self.unique: dict[str, dict[str, str]] = {name: {} for name in self.table.unique}
        # The ids of records by lookup and value, in dictionaries that serve as ordered sets: the
        # garbage collector does not track those.
        self.lookups: dict[str, defaultdict[str, dict[str, None]]] = {
            name: defaultdict(dict) for name in self.table.lookups
        }
        self._indexes = [(self.lookups[name], of) for name, of in self.table.lookups.items()]
        # The searchable text of each record by id, made at the first search.
        self._texts: dict[str, str] | None = None

    # --- one record

    def one(self, name: str, value: str) -> Any:
        """Return the record that has this value in a unique lookup, or None."""
        id = self.unique[name].get(value)
        return None if id is None else self.by_id[id]

    def newest(self, name: str, value: str) -> Any:
        """Return the newest record with this value in a lookup, or None."""
        ids = self.lookups[name].get(value)
        return self.by_id[max(ids, key=self.numbers.__getitem__)] if ids else None

    def all_with(self, name: str, value: str) -> list[Any]:
        """Return the records with this value in a lookup, except deleted ones."""
        ids = self.lookups[name].get(value, ())
        return [one for one in map(self.by_id.__getitem__, ids) if one.deleted_at is None]

    def claim(self, id: str, record: Any, claims: "Claims") -> None:
        """Check that no other record has this one's values in unique lookups, and claim them.

        Raises DuplicateValue.
        """
        for name, values_of in self.table.unique.items():
            for value in values_of(record):
                holder = claims.setdefault((self, name, value), id)
                if holder != id or self.unique[name].get(value, id) != id:
                    raise DuplicateValue(f"{self.table.name}: another record has this {name}")

    def add(self, id: str, record: Any, number: int | None = None) -> None:
        """Add a single record outside a unit of work. Raises DuplicateValue."""
        claims: Claims = {}
        self.claim(id, record, claims)
        self.put(id, record, number)
        keep(claims)

    def put(self, id: str, record: Any, number: int | None = None) -> None:
        """Add or replace a record; `keep` stores its claims.

        Records from files have a number already.
        """
        old = self.by_id.get(id)
        self.by_id[id] = record
        if old is None:
            if number is None:
                number = self._next_number
            self.numbers[id] = number
            if number >= self._next_number:
                self._next_number = number + 1
        for entries, values_of in self._indexes:
            after = values_of(record)
            if old is not None:
                if (before := values_of(old)) == after:
                    continue
                for value in values_in(before):
                    entries[value].pop(id, None)
            for value in values_in(after):
                entries[value][id] = None
        if self._texts is not None:
            self._texts[id] = self._text_of(record)

    def remove(self, id: str) -> None:
        """Remove the record, if there is one."""
        if (record := self.by_id.pop(id, None)) is not None:
            del self.numbers[id]
            for entries, values_of in self._indexes:
                for value in values_in(values_of(record)):
                    del entries[value][id]
                    if not entries[value]:
                        # Subjects of timers come and go for as long as the server runs.
                        del entries[value]

    def numbered(self) -> list[tuple[int, Any]]:
        """Return all records with their numbers, ordered by number."""
        return [(self.numbers[id], record) for id, record in self.by_id.items()]

    # --- many records

    def find(
        self,
        where: tables.Where,
        *,
        limit: int | None = None,
        offset: int = 0,
        order: tables.Order = tables.NEWEST_FIRST,
    ) -> tuple[list[Any], int]:
        """Return a page in the requested order, and the total."""
        within, found = self.table.within, self._matching(where)
        for name in filter(None, (self.table.moment, order.by)):
            found.sort(key=attrgetter(name))
        if order.is_descending:
            found.reverse()
        page, key = found[offset : None if limit is None else offset + limit], self.table.key
        return [self.by_id[getattr(one, key)] for one in page] if within else page, len(found)

    def _matching(self, where: tables.Where) -> list[Any]:
        """Return all records (or their parts `within`) that match every condition, oldest first.

        Lookups come first. Parts are fetched from their records once, not by each condition, since
        they are scattered in memory.
        """
        conditions: dict[str, Any] = dict(where)
        if (scope := conditions.pop("scope", None)) is not None:
            self._restrict_to(scope, conditions)
        ids: set[str] | None = None
        for name in self.lookups.keys() & conditions.keys():
            entries, wanted = self.lookups[name], set_of(conditions.pop(name))
            its = {id for value in wanted for id in entries.get(value, ())}
            ids = its if ids is None else ids & its
        found = list(self.by_id.values()) if ids is None else self._with_ids(ids)
        if self._has_deleted and where:
            found = [one for one in found if one.deleted_at is None]
        table = self.table
        if table.texts is not None and table.texts[0] in conditions:
            found = self._with_text(conditions.pop(table.texts[0]).lower(), found)
        if table.within:
            found = list(map(attrgetter(table.within), found))
        for name, wanted in conditions.items():
            found = table.conditions.get(name, having(name))(found, wanted)
        return found

    def _restrict_to(self, scope: Any, conditions: dict[str, Any]) -> None:
        """Add the condition that records belong to these accounts, or to accounts below them."""
        wanted, below = set_of(scope), self._accounts.lookups["ancestor"]
        accounts = {*wanted, *(id for one in wanted for id in below.get(one, ()))}
        entries = self.lookups["account"]
        count = sum(len(entries.get(id, ())) for id in accounts)
        if count < len(self.by_id):
            conditions["account"] = accounts & set_of(conditions.get("account", accounts))

    def _with_text(self, piece: str, records: list[Any]) -> list[Any]:
        """Return the records whose texts contain this piece."""
        if (texts := self._texts) is None:
            texts = {id: self._text_of(record) for id, record in self.by_id.items()}
            self._texts = texts
        if len(records) == len(self.by_id):
            return [self.by_id[id] for id, text in texts.items() if piece in text]
        return [one for one in records if piece in texts[self.id_of(one)]]

    def _with_ids(self, ids: set[str]) -> list[Any]:
        """Return the records with these ids, oldest first."""
        if len(ids) > len(self.by_id) // FEW:
            return [one for id, one in self.by_id.items() if id in ids]
        return [self.by_id[id] for id in sorted(ids, key=self.numbers.__getitem__)]

    def _text_of(self, record: Any) -> str:
        """Return the searchable texts of a record in lower case."""
        assert self.table.texts
        return "\0".join(text for text in self.table.texts[1](record) if text).lower()


class Timers(Records):
    """The pending timers, also by their due time. Of equal ones, that set last comes last.

    `soonest` is the timer that is due next, or None.
    """

    def forget(self) -> None:
        """Remove all timers."""
        super().forget()
        # Due time, number and id of every timer, soonest first.
        self._by_due: list[tuple[float, int, str]] = []
        self.soonest: Timer | None = None

    def put(self, id: str, record: Timer, number: int | None = None) -> None:
        """Add the timer, in place of the one with its id."""
        self.remove(id)
        super().put(id, record, number)
        insort(self._by_due, self._place_of(id))
        self._find_soonest()

    def remove(self, id: str) -> None:
        """Remove the timer, if there is one."""
        if id in self.by_id:
            del self._by_due[bisect_left(self._by_due, self._place_of(id))]
        super().remove(id)
        self._find_soonest()

    def _find_soonest(self) -> None:
        self.soonest = self.by_id[self._by_due[0][2]] if self._by_due else None

    def _place_of(self, id: str) -> tuple[float, int, str]:
        return self.by_id[id].due.timestamp(), self.numbers[id], id

    def by_due(self) -> list[Timer]:
        """Return all timers, soonest first."""
        return [self.by_id[id] for _, _, id in self._by_due]

    def about(self, subject: str) -> list[Timer]:
        """Return the timers of a subject, soonest first."""
        ids = self.lookups["subject"].get(subject, ())
        return [self.by_id[id] for _, _, id in sorted(map(self._place_of, ids))]


Claims = dict[tuple[Records, str, str], str]
"""The ids of records, by the values that they claim in unique lookups."""


def keep(claims: Claims) -> None:
    """Store the claims in the unique lookups."""
    for (records, name, value), id in claims.items():
        records.unique[name][value] = id
