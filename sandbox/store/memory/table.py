"""The rows of one table in memory: dictionaries, and sorted indexes.

The cost of a write and of a page of results does not grow with the table. Rows are numbered in the
order of listing: by their moment if the table has one, then by their first put. An index is built
by the first query that needs it, because most worlds never use most indexes, and follows every
write from then on. If several must agree, the query goes through the shortest, and the result is
cached.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

from sandbox.store.building import Follower, build_index, build_text_index
from sandbox.store.memory.indexes import Ascending, Index, in_pieces
from sandbox.store.memory.query_cache import (
    Answers,
    Predicate,
    Query,
    RankOf,
    question_of,
    ranked_question_of,
)
from sandbox.store.memory.row_numbers import bounds, numbered, put_of, window
from sandbox.store.memory.trigram_index import TextIndex
from sandbox.store.port import (
    ANY_TIME,
    NEWEST_FIRST,
    Between,
    DuplicateValue,
    Order,
    Where,
)
from sandbox.store.steps import Container, run_through
from sandbox.store.tables import Path, Row, Table, in_two

if TYPE_CHECKING:
    # Documents are read and written lazily: most worlds are not saved.
    from sandbox.store.files.port import Document, Parsed
    from sandbox.store.memory.texts import Texts

PathOf = Callable[[Row], Path]
ReadText = Callable[[str], str]
Claims = Sequence[tuple[str, str, str]]  # a unique index, and both parts of the value


class _Records(dict[int, Any]):
    """Records by number. Those of an earlier run stay documents until they are needed."""

    def __init__(self, kind: type) -> None:
        super().__init__()
        self._kind = kind
        self.documents: dict[int, Document | Parsed] = {}
        self.read: ReadText = str
        # Moments being written: they get every record that is read before it changes.
        self.moments: dict[int, dict[int, Any]] = {}

    def __missing__(self, number: int) -> Any:
        record = self[number] = _record_of(self._kind, self.documents[number])
        del self.documents[number]
        for moment in self.moments.values():
            moment.setdefault(number, record)
        return record


def _record_of(kind: type, document: "Document | Parsed") -> Any:
    """The record of a document: what people can edit was parsed, and is checked."""
    from sandbox.store.documents import from_document, from_text
    from sandbox.store.files.port import Parsed

    if isinstance(document, Parsed):
        return from_document(kind, document.fields)
    return from_text(kind, document.text)


class AllRecords(Mapping[str, Any]):
    """The records of a table by id, oldest first, as a view."""

    def __init__(self, rows: "Rows") -> None:
        self._rows = rows

    def __getitem__(self, id: str) -> Any:
        return self._rows.by_number[self._rows.number_of[id]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows.number_of)

    def __len__(self) -> int:
        return len(self._rows.number_of)

    def __contains__(self, id: object) -> bool:
        return id in self._rows.number_of


class Rows:
    """The rows of one table."""

    def __init__(self, table: Table, path_of: PathOf) -> None:
        self.table = table
        self.id_of = attrgetter(table.key)
        self.path_of = path_of
        self.all: Mapping[str, Any] = AllRecords(self)
        # Records are found by their ids alone: a change of one changes nothing else.
        self.is_plain = not (table.indexes or table.texts or table.filters or table.orders)
        self.forget()

    def forget(self) -> None:
        """Hold nothing."""
        table = self.table
        self.number_of: dict[str, int] = {}
        self.in_order = Ascending()  # all numbers, of a table with moments
        self.by_number = _Records(table.kind)
        self._puts = 0
        # By both parts of a value, which are the record's own texts: joined they would need memory.
        self.unique = {name: defaultdict[str, dict[str, int]](dict) for name in table.unique}
        self.indexes: dict[str, Index] = {}
        self.texts: dict[str, TextIndex] = {}
        # Index builders, which must follow the rows that are put in the meantime.
        self.followers: list[Follower] = []
        self.is_let_go = False
        self.answers = Answers()

    # --- one row

    def get(self, id: str) -> Any:
        """The record with this id, or None."""
        number = self.number_of.get(id)
        return None if number is None else self.by_number[number]

    def one(self, name: str, value: str) -> Any:
        """The record that has this value in a unique index; None when none has."""
        first, second = in_two(value)
        number = self.unique[name].get(first, {}).get(second)
        return None if number is None else self.by_number[number]

    def newest(self, name: str, value: str) -> Any:
        """The last created of the records with this value in an index; None without one."""
        numbers = self._index(name).rows(value)
        return self.by_number[numbers[-1]] if numbers else None

    def unique_values(self, id: str, record: Any) -> Claims:
        """The values that the record newly takes in unique indexes, with the index of each.

        Raises DuplicateValue if another record has one.
        """
        own, unique_values = self.number_of.get(id), []
        for name, index in self.table.unique.items():
            taken = self.unique[name]
            for first, second in index(record):
                number = taken[first].get(second)
                if number is None:
                    unique_values.append((name, first, second))
                elif number != own:
                    raise DuplicateValue(f"{self.table.name}: another record has this {name}")
        return unique_values

    def put(self, id: str, record: Any, unique_values: Claims) -> None:
        number = self.number_of.get(id)
        if number is None:
            old, number = None, self._new_number(record)
            self.number_of[id] = number
        else:
            old = self.by_number[number]
        self.by_number[number] = record
        for name, first, second in unique_values:
            self.unique[name][first][second] = number
        if self.indexes or self.texts or self.followers:
            keeps_place = self.table.keeps_place
            if old is None or keeps_place is None or not keeps_place(old, record):
                self._reindex(number, old, record)
        self.answers.note_change(number)

    def remove(self, id: str) -> None:
        """Remove the record, if there is one."""
        assert not self.table.indexes
        assert not self.unique
        number = self.number_of.pop(id, None)
        if number is not None:
            self.by_number.pop(number, None)
            self.answers.note_change(number)

    def _new_number(self, record: Any) -> int:
        put, moment = self._puts, self.table.moment
        self._puts = put + 1
        if moment is None:
            return put
        number = numbered(moment(record), put)
        self.in_order.put(number)
        return number

    # --- documents

    def keep(self, document: "Document | Parsed", read: ReadText) -> None:
        """Take over a document of an earlier run.

        Without its unique values it is read at once to know them; `read` gives the text if the
        document comes without it. Raises Unreadable or DuplicateValue.
        """
        from sandbox.store.documents import Unreadable

        number, self.by_number.read = document.number, read
        self._puts = max(self._puts, put_of(number) + 1)
        if document.unique_values:
            self.by_number.documents[number] = document
            unique_values = [tuple(claim) for claim in from_json(document.unique_values)]
        else:
            record = _record_of(self.table.kind, document)
            if self.id_of(record) != document.id or self.number_of.get(document.id) is not None:
                raise Unreadable(f"its id must be {document.id[:80]}, once")
            unique_values = list(self.unique_values(document.id, record))
            self.by_number[number] = record
        self.number_of[document.id] = number
        if self.table.moment is not None:
            self.in_order.put(number)
        for name, first, second in unique_values:
            self.unique[name][first][second] = number

    def document(self, id: str, texts: "Texts") -> "Document":
        """The stored form of the record with this id."""
        number = self.number_of[id]
        saved = self.by_number.documents.get(number)
        if saved is not None:
            return self.unread_document(saved)
        return self.document_of(number, self.by_number[number], texts)

    def unread_document(self, saved: "Document | Parsed") -> "Document":
        """The document of an unread record."""
        from sandbox.store.files.port import Document

        text = saved.text or self.by_number.read(saved.id)
        return Document(saved.id, saved.number, text, saved.unique_values)

    def document_of(self, number: int, record: Any, texts: "Texts") -> "Document":
        """The document of a record with that number."""
        from sandbox.store.files.port import Document

        unique_values = [
            (name, *value) for name, index in self.table.unique.items() for value in index(record)
        ]
        written = to_json(unique_values).decode() if unique_values else ""
        return Document(self.id_of(record), number, texts.of_record(record), written)

    def containers(self) -> list[Container]:
        """All containers of rows, to be freed when they are unused."""
        self.is_let_go = True
        return [
            self.number_of,
            self.in_order,
            self.by_number,
            self.by_number.documents,
            *(values for taken in self.unique.values() for values in taken.values()),
            *self.unique.values(),
            *(index.entries for index in self.indexes.values()),
            *(text_index.entries for text_index in self.texts.values()),
        ]

    def _reindex(self, number: int, old: Any, record: Any) -> None:
        path = self.path_of(record)
        old_path = () if old is None else self.path_of(old)
        for name, entries in self.indexes.items():
            index = self.table.indexes[name]
            before = () if old is None else index(old, old_path)
            after = index(record, path)
            if before != after:
                entries.move(number, before, after)
        for name, text_index in self.texts.items():
            texts = self.table.texts[name]
            text_index.move(number, () if old is None else texts(old), texts(record))
        for follower in self.followers:
            follower.note(number, old, record)

    # --- many rows

    def find(
        self, where: Where, limit: int | None, offset: int, between: Between, order: Order
    ) -> tuple[list[Any], int]:
        """A page in the requested order, and the total."""
        if offset == 0 and limit is not None and order is NEWEST_FIRST and between == ANY_TIME:
            numbers = self.matching(where)
            newest = numbers[len(numbers) - limit :] if limit < len(numbers) else numbers
            return [self.by_number[number] for number in reversed(newest)], len(numbers)
        found: Sequence[Any]
        if order.by:
            found = self._ranked(where, between, order.by)
            first, last = 0, len(found)
        else:
            found = self.matching(where)
            first, last = window(found, between)
        total = last - first
        if order.is_descending:
            end = max(last - offset, first)
            start = first if limit is None else max(end - limit, first)
        else:
            start = min(first + offset, last)
            end = last if limit is None else min(start + limit, last)
        # The cost of a slice of a sorted list does not depend on its position.
        page: list[Any] = list(found[start:end])
        if order.by:
            page = [number for _, number in page]
        if order.is_descending:
            page.reverse()
        return [self.by_number[number] for number in page], total

    def matching(self, where: Where) -> Sequence[int]:
        """The numbers of all rows that match every condition, ascending."""
        if not where:
            return self.everything()
        if len(where) == 1:
            ((name, values),) = where.items()
            if isinstance(values, str) and name in self.table.indexes:
                return self._index(name).rows(values)
        return self.answers.matching(question_of(where), self.conditions(where))

    def is_by_one_index(self, where: Where) -> bool:
        """Whether one index alone answers this, or the query wants everything."""
        if len(where) != 1:
            return not where
        ((name, values),) = where.items()
        return isinstance(values, str) and name in self.table.indexes

    def _ranked(self, where: Where, between: Between, by: str) -> Sequence[tuple[int, int]]:
        """Rank and number of the rows that match, ascending."""
        return self.answers.ranked(*self.ranking(where, between, by))

    def ranking(
        self, where: Where, between: Between, by: str
    ) -> tuple[Query, list[Predicate], str, RankOf]:
        """The question for rows in that order, as it is answered and remembered."""
        rank, by_number = self.table.orders[by], self.by_number
        conditions = self.conditions(where)
        question = ranked_question_of(where, between)
        if between != ANY_TIME:
            first, last = bounds(between)
            conditions.append(Predicate(lambda number: first <= number < last))
        return question, conditions, by, lambda number: rank(by_number[number])

    def everything(self) -> Sequence[int]:
        """The numbers of all rows, ascending."""
        if self.table.moment is not None:
            return self.in_order
        # These have no gaps, unless a row was removed.
        if self._puts == len(self.number_of):
            return range(self._puts)
        return sorted(self.number_of.values())

    def conditions(self, where: Where) -> list[Predicate]:
        """The conditions, each with its check and its candidates."""
        conditions = [self._condition(name, values) for name, values in where.items()]
        if not any(one.rows for one in conditions):
            everything = self.everything()
            all_rows = Predicate(
                lambda _: True, lambda: in_pieces(everything), len(everything), True
            )
            conditions.append(all_rows)
        return conditions

    def _condition(self, name: str, values: Any) -> Predicate:
        table, by_number = self.table, self.by_number
        if name in table.filters:
            fits = table.filters[name]
            return Predicate(lambda number: fits(by_number[number], values))
        if name in table.texts:
            return self._text_condition(name, str(values))
        index = self._index(name)
        wanted: Collection[str] = (
            (values,) if isinstance(values, str) else tuple(dict.fromkeys(values))
        )
        return Predicate(
            lambda number: any(index.has(value, number) for value in wanted),
            lambda: index.rows_of_any(wanted),
            sum(len(index.rows(value)) for value in wanted),
            True,
        )

    def _index(self, name: str) -> Index:
        if name not in self.indexes:
            run_through(build_index(self, name))
        return self.indexes[name]

    def _text_condition(self, name: str, piece: str) -> Predicate:
        texts, wanted = self.table.texts[name], piece.lower()
        candidates, is_exact = self._text_index(name).candidates(piece)
        return Predicate(
            lambda number: any(
                text is not None and wanted in text.lower()
                for text in texts(self.by_number[number])
            ),
            lambda: in_pieces(candidates),
            len(candidates),
            is_exact,
        )

    def _text_index(self, name: str) -> TextIndex:
        if name not in self.texts:
            run_through(build_text_index(self, name))
        return self.texts[name]
