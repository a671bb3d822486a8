"""Finds the row for a method and a path, in a tree that is built from the rows once.

A literal segment is tried before a parameter, and a parameter takes exactly one non-empty
segment. There are no redirects and no guesses: a trailing slash is another path.
"""

from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

from msgspec import Struct, field


class Routed(Protocol):
    """The part of a row that the router needs. `method` is in capitals; parameters are `{name}`."""

    @property
    def method(self) -> str: ...

    @property
    def path(self) -> str: ...


RowT = TypeVar("RowT", bound=Routed)


class Match(Struct, Generic[RowT]):
    """The match of a path: a row and its parameters, or only the rows of other methods.

    If a segment is both a literal and a parameter, those are the rows of the literal.
    """

    row: RowT | None
    params: dict[str, str]
    others: tuple[RowT, ...] = ()


class _Node(Struct, Generic[RowT]):
    literals: "dict[str, _Node[RowT]]" = field(default_factory=dict)
    parameter: "_Node[RowT] | None" = None
    rows: dict[str, RowT] = field(default_factory=dict)
    names: tuple[str, ...] = ()


class Router(Generic[RowT]):
    """The tree over a table of rows."""

    def __init__(self, rows: Iterable[RowT]) -> None:
        self._root: _Node[RowT] = _Node()
        # Shortcuts for most requests: whole paths, and paths up to their only parameter.
        self._literal: dict[str, dict[str, Match[RowT]]] = {}
        self._up_to_parameter: dict[str, _Node[RowT]] = {}
        for row in rows:
            self._add(row)

    def _add(self, row: RowT) -> None:
        node, names = self._root, []
        for segment in row.path.split("/")[1:]:
            if segment.startswith("{"):
                names.append(segment[1:-1])
                node.parameter = node.parameter or _Node()
                node = node.parameter
            else:
                node = node.literals.setdefault(segment, _Node())
        if row.method in node.rows:
            raise ValueError(f"two rows for {row.method} {row.path}")
        node.rows[row.method] = row
        node.names = tuple(names)
        if not names:
            self._literal.setdefault(row.path, {})[row.method] = Match(row, {})
        elif row.path.index("{") == row.path.rindex("/") + 1:
            self._up_to_parameter[row.path.rpartition("/")[0]] = node

    def match(self, method: str, path: str) -> Match[RowT] | None:
        """The row for this method and path; None if no row has the path."""
        literal = self._literal.get(path)
        if literal is not None and method in literal:
            return literal[method]
        head, _, last = path.rpartition("/")
        if literal is None and last and head in self._up_to_parameter:
            node = self._up_to_parameter[head]
            if method in node.rows:
                return Match(node.rows[method], {node.names[0]: last})
        nodes = self._nodes(path.split("/")[1:])
        for node, values in nodes:
            row = node.rows.get(method)
            if row is not None:
                return Match(row, dict(zip(node.names, values, strict=True)))
        if not nodes:
            return None
        most_literal, _ = nodes[0]
        return Match(None, {}, tuple(most_literal.rows.values()))

    def _nodes(self, segments: list[str]) -> list[tuple[_Node[RowT], tuple[str, ...]]]:
        """Every node that the path leads to, with its parameters; literal segments first."""
        reached: list[tuple[_Node[RowT], tuple[str, ...]]] = [(self._root, ())]
        for segment in segments:
            onward = []
            for node, values in reached:
                literal = node.literals.get(segment)
                if literal is not None:
                    onward.append((literal, values))
                if node.parameter is not None and segment:
                    onward.append((node.parameter, (*values, segment)))
            if not onward:
                return []
            reached = onward
        return [(node, values) for node, values in reached if node.rows]
