"""The records of one table in memory: a dictionary by id, and one for each lookup."""

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, Final

from sandbox.store.queries import ANY_TIME, Between, DuplicateValue, Order, Where
from sandbox.store.tables import EVERYTHING, Row, Table

_PUT_BITS: Final = 40
"""The number of a record with a moment is the moment, then so many bits for the order of puts."""

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
        # What a text search searches, by id; from the first search on.
        self._texts: dict[str, str] | None = None

    # --- one record

    def one(self, name: str, value: str) -> Any:
        """The record that has this value in a unique lookup; None when none has."""
        id = self.unique[name].get(value)
        return None if id is None else self.by_id[id]

    def newest(self, name: str, value: str) -> Any:
        """The last created of the records with this value in a lookup; None without one."""
        ids = self.lookups[name].get(value)
        return self.by_id[max(ids, key=self.numbers.__getitem__)] if ids else None

    def claims(self, id: str, record: Any) -> Claims:
        """The values that the record newly takes in unique lookups.

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
        for name, entries in self.lookups.items():
            values_of = self.table.lookups[name]
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
        """A page in the requested order, and the total."""
        found = self._matching(where)
        if between != ANY_TIME:
            assert self.table.moment
            first, last = between
            moment, end = self.table.moment, float("inf") if last is None else last
            found = [one for one in found if (first or 0) <= moment(one) <= end]
        if order.by:
            found.sort(key=self.table.orders[order.by])
        total = len(found)
        if not order.is_descending:
            return found[offset : None if limit is None else offset + limit], total
        end = max(total - offset, 0)
        page = found[0 if limit is None else max(end - limit, 0) : end]
        page.reverse()
        return page, total

    def _matching(self, where: Where) -> list[Any]:
        """All records that match every condition, oldest first."""
        table, left = self.table, dict(where)
        text_name = table.texts[0] if table.texts else ""
        name = next((name for name in where if name in table.lookups), None)
        if name is not None:
            found = self._with_ids(self._looked_up(name, left.pop(name)))
        elif text_name in left:
            piece = str(left.pop(text_name)).lower()
            ids = [id for id, text in self._all_texts().items() if piece in text]
            found = self._with_ids(ids, is_in_order=self._is_in_order)
        elif "scope" in left:
            found = self._within(left.pop("scope"))
        else:
            found = self._in_order()
        if table.has_deleted and where:
            found = [one for one in found if one.deleted_at is None]
        # The slow conditions come last.
        for name in sorted(left, key=lambda name: name in table.filters):
            found = self._those_with(name, left[name], found)
        return found

    def _those_with(self, name: str, wanted: Any, records: list[Any]) -> list[Any]:
        """Those of the records that fulfil the condition."""
        table = self.table
        if name in table.filters:
            fits = table.filters[name]
            return [one for one in records if fits(one, wanted)]
        if table.texts and name == table.texts[0]:
            piece = str(wanted).lower()
            return [one for one in records if piece in self._text_of(one)]
        if name == "scope":
            if EVERYTHING in wanted:
                return records
            name, wanted = "account", self._accounts_within(wanted)
        values = _set_of(wanted)
        if name in table.lookups:
            values_of = table.lookups[name]
            return [one for one in records if not values.isdisjoint(values_of(one))]
        value_of = table.fields[name]
        return [one for one in records if value_of(one) in values]

    def _in_order(self) -> list[Any]:
        return list(self.by_id.values()) if self._is_in_order else self._with_ids(self.by_id)

    def _with_ids(self, ids: Iterable[str], *, is_in_order: bool = False) -> list[Any]:
        """The records with these ids, oldest first."""
        if not is_in_order:
            ids = sorted(ids, key=self.numbers.__getitem__)
        return [self.by_id[id] for id in ids]

    def _looked_up(self, name: str, wanted: Any) -> dict[str, None]:
        """The ids of the records with any of the values in the lookup."""
        entries, ids = self.lookups[name], dict[str, None]()
        for value in _set_of(wanted):
            ids.update(dict.fromkeys(entries.get(value, ())))
        return ids

    def _within(self, scopes: Any) -> list[Any]:
        """The records of these accounts and of all below them, oldest first."""
        if EVERYTHING in scopes:
            return self._in_order()
        ids = self._looked_up("account", self._accounts_within(scopes))
        return self._in_order() if len(ids) == len(self.by_id) else self._with_ids(ids)

    def _all_texts(self) -> dict[str, str]:
        if self._texts is None:
            self._texts = {id: self._text_of(record) for id, record in self.by_id.items()}
        return self._texts

    def _text_of(self, record: Any) -> str:
        """The texts of a record for its search, in lower case."""
        assert self.table.texts
        return "\0".join(text for text in self.table.texts[1](record) if text).lower()

    def _accounts_within(self, scopes: Any) -> set[str]:
        """The ids of these accounts and of all below them."""
        wanted, below = _set_of(scopes), self._accounts.lookups["ancestor"]
        return {*wanted, *(id for scope in wanted for id in below.get(scope, ()))}


def _set_of(wanted: Any) -> set[str]:
    return {wanted} if isinstance(wanted, str) else set(wanted)
