"""The records of one table in memory: a dictionary by id, and one for each lookup."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from heapq import nlargest, nsmallest
from operator import attrgetter
from typing import Any, Final

from sandbox.store.tables import (
    ANY_TIME,
    EVERYTHING,
    Between,
    DuplicateValue,
    Order,
    Row,
    Table,
    Where,
)

_PUT_BITS: Final = 40
"""The number of a record with a moment is the moment, then these bits for the order of puts."""

FEW: Final = 8
"""Comparing all records is faster than a lookup that leads to a larger part of them."""

Claims = Sequence[tuple[str, str]]
"""Names of unique lookups, each with a value that a record newly takes."""


class Records:
    """The records of one table. `accounts` are the records of the accounts, for scopes.

    `numbers` give the order of listing, which is that of the moments if the table has them, and
    otherwise that of the first puts. Files keep them.
    """

    def __init__(self, table: Table, accounts: "Records | None" = None) -> None:
        self.table = table
        self.id_of: Callable[[Row], str] = attrgetter(table.key)
        self._accounts = accounts or self
        self.forget()

    def forget(self) -> None:
        """Hold nothing."""
        self.by_id: dict[str, Any] = {}
        self.numbers: dict[str, int] = {}
        self._puts = self._last_number = 0
        # Whether the records are in the order of their numbers.
        self._is_in_order = True
        self.unique: dict[str, dict[str, str]] = {name: {} for name in self.table.unique}
        # The ids of the records, by the name of the lookup and the value.
        self.lookups: dict[str, dict[str, list[str]]] = {name: {} for name in self.table.lookups}
        self._lookups = list(zip(self.lookups.values(), self.table.lookups.values(), strict=True))
        # What a text search searches, by id; from the first search on.
        self._texts: dict[str, str] | None = None

    # --- one record

    def one(self, name: str, value: str) -> Any:
        """Return the record that has this value in a unique lookup; None when none has."""
        id = self.unique[name].get(value)
        return None if id is None else self.by_id[id]

    def newest(self, name: str, value: str) -> Any:
        """Return the last created of the records with this value in a lookup; None without one."""
        ids = self.lookups[name].get(value)
        return self.by_id[max(ids, key=self.numbers.__getitem__)] if ids else None

    def all_with(self, name: str, value: str) -> list[Any]:
        """Return the records with this value in a lookup, without those that were deleted."""
        found = [self.by_id[id] for id in self.lookups[name].get(value, ())]
        return [one for one in found if one.deleted_at is None]

    def claims(self, id: str, record: Any) -> Claims:
        """Return the values that the record newly takes in unique lookups.

        Raises DuplicateValue if another record has one.
        """
        found = []
        for name, values_of in self.table.unique.items():
            taken = self.unique[name]
            for value in values_of(record):
                holder = taken.get(value)
                if holder is None:
                    found.append((name, value))
                elif holder != id:
                    raise DuplicateValue(f"{self.table.name}: another record has this {name}")
        return found

    def put(self, id: str, record: Any, claims: Claims, number: int | None = None) -> None:
        """Add or replace the record; a record of a file comes with its number."""
        old = self.by_id.get(id)
        self.by_id[id] = record
        if old is None:
            self._give_number(id, record, number)
        for name, value in claims:
            self.unique[name][value] = id
        for entries, values_of in self._lookups:
            before: Sequence[str] = () if old is None else values_of(old)
            after = values_of(record)
            if before != after:
                for value in before:
                    entries[value].remove(id)
                    if not entries[value]:
                        del entries[value]
                for value in after:
                    entries.setdefault(value, []).append(id)
        if self._texts is not None:
            self._texts[id] = self._text_of(record)

    def _give_number(self, id: str, record: Any, number: int | None) -> None:
        moment = self.table.moment
        if number is None:
            number = self._puts if moment is None else moment(record) << _PUT_BITS | self._puts
        put = number if moment is None else number & (1 << _PUT_BITS) - 1
        self._puts = max(self._puts, put + 1)
        self.numbers[id] = number
        if number < self._last_number:
            self._is_in_order = False
        else:
            self._last_number = number

    def remove(self, id: str) -> None:
        """Remove the record, if there is one."""
        assert not self.lookups
        assert not self.unique
        if self.by_id.pop(id, None) is not None:
            del self.numbers[id]

    def numbered(self) -> list[tuple[int, Any]]:
        """All records with their numbers, in the order of these."""
        return [(self.numbers[self.id_of(record)], record) for record in self._in_order()]

    # --- many records

    def find(
        self, where: Where, limit: int | None, offset: int, between: Between, order: Order
    ) -> tuple[list[Any], int]:
        """Return a page in the requested order, and the total."""
        found = self._matching(where)
        if between != ANY_TIME:
            # They are in the order of their moments.
            moment = self.table.moment
            assert moment
            first, last = between
            start = 0 if first is None else bisect_left(found, first, key=moment)
            end = None if last is None else bisect_right(found, last, key=moment)
            found = found[start:end]
        total = len(found)
        if order.by:
            key, count = self.table.orders[order.by], total if limit is None else offset + limit
            if order.is_descending:
                return nlargest(count, reversed(found), key=key)[offset:], total
            return nsmallest(count, found, key=key)[offset:], total
        if not order.is_descending:
            return found[offset : None if limit is None else offset + limit], total
        end = max(total - offset, 0)
        page = found[0 if limit is None else max(end - limit, 0) : end]
        page.reverse()
        return page, total

    def _matching(self, where: Where) -> list[Any]:
        """All records that match every condition, oldest first.

        It begins with those that a lookup leads to, unless all are compared sooner.
        """
        table, text_name = self.table, self.table.texts[0] if self.table.texts else ""
        pieces = [str(wanted).lower() for name, wanted in where.items() if name == text_name]
        conditions = self._conditions(where)
        narrowest = self._narrowest(conditions)
        if narrowest is not None:
            conditions.remove(narrowest)
            found = self._looked_up(*narrowest)
        elif pieces:
            texts, piece = self._all_texts(), pieces.pop()
            ids = [id for id, text in texts.items() if piece in text]
            found = self._with_ids(ids, is_in_order=self._is_in_order)
        else:
            found = self._in_order()
        if table.has_deleted and where:
            found = [one for one in found if one.deleted_at is None]
        for name, values in conditions:
            found = self._those_with(name, values, found)
        for name, fitting in table.filters.items():
            if name in where:
                found = fitting(found, where[name])
        for piece in pieces:
            found = [one for one in found if piece in self._text_of(one)]
        return found

    def _conditions(self, where: Where) -> list[tuple[str, set[str]]]:
        """Return the names of lookups and fields, each with the values of which one must match."""
        table, conditions = self.table, []
        for name, wanted in where.items():
            if name == "scope":
                accounts, entries = self._accounts_within(wanted), self.lookups["account"]
                count = sum(len(entries[id]) for id in accounts if id in entries)
                if EVERYTHING not in accounts and count < len(self.by_id):
                    conditions.append(("account", accounts))
            elif name not in table.filters and (table.texts is None or name != table.texts[0]):
                conditions.append((name, _set_of(wanted)))
        return conditions

    def _narrowest(self, conditions: list[tuple[str, set[str]]]) -> tuple[str, set[str]] | None:
        """Return the condition whose lookup leads to the fewest records, if these are few."""
        narrowest, least = None, len(self.by_id) // FEW
        for name, values in conditions:
            if name in self.lookups:
                entries = self.lookups[name]
                count = sum(len(entries[value]) for value in values if value in entries)
                if count <= least or (narrowest is None and name not in self.table.fields):
                    narrowest, least = (name, values), count
        return narrowest

    def _those_with(self, name: str, values: set[str], records: list[Any]) -> list[Any]:
        """Those of the records that have one of the values."""
        if name in self.table.fields:
            return self.table.fields[name](records, values)
        values_of = self.table.lookups[name]
        return [one for one in records if not values.isdisjoint(values_of(one))]

    def _in_order(self) -> list[Any]:
        if not self._is_in_order:
            # Payments that are made at one time are stored as they end.
            ids = sorted(self.by_id, key=self.numbers.__getitem__)
            ordered = {id: self.by_id[id] for id in ids}
            # In place: views of this dictionary are out.
            self.by_id.clear()
            self.by_id.update(ordered)
            self._is_in_order = True
        return list(self.by_id.values())

    def _with_ids(self, ids: Iterable[str], *, is_in_order: bool = False) -> list[Any]:
        """Return the records with these ids, oldest first."""
        if not is_in_order:
            ids = sorted(ids, key=self.numbers.__getitem__)
        return [self.by_id[id] for id in ids]

    def _looked_up(self, name: str, values: set[str]) -> list[Any]:
        """Return the records with any of the values in the lookup, oldest first."""
        entries = self.lookups[name]
        return self._with_ids({id for value in values for id in entries.get(value, ())})

    def _all_texts(self) -> dict[str, str]:
        if self._texts is None:
            self._texts = {id: self._text_of(record) for id, record in self.by_id.items()}
        return self._texts

    def _text_of(self, record: Any) -> str:
        """Return the texts of a record for its search, in lower case."""
        assert self.table.texts
        return "\0".join(text for text in self.table.texts[1](record) if text).lower()

    def _accounts_within(self, scopes: Any) -> set[str]:
        """Return the ids of these accounts and of all below them."""
        wanted, below = _set_of(scopes), self._accounts.lookups["ancestor"]
        return {*wanted, *(id for scope in wanted for id in below.get(scope, ()))}


def _set_of(wanted: Any) -> set[str]:
    return {wanted} if isinstance(wanted, str) else set(wanted)
