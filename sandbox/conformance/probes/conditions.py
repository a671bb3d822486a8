"""The conditions of probes: comparisons of what was answered, in a few words of Python's grammar.

A condition has the names `status`, `headers` and `body` of the last answer; `answers`, the list
of all; and `own`, the record of the key that asks. What an answer does not have is None. Nothing is
called, and nothing is evaluated by Python.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

NAMES: Final = ("status", "headers", "body", "answers", "own")

_COMPARED: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda part, whole: part in whole,
    ast.NotIn: lambda part, whole: part not in whole,
}


Names = Mapping[str, Any]
Condition = Callable[[Names], Any]
"""Gives the value of a condition for an answer."""


def parse_condition(text: str) -> Condition:
    """Return the condition in a text. Raises ValueError for any other expression."""
    return _compiled(ast.parse(text, mode="eval").body)


def is_met(condition: Condition, names: Names) -> bool:
    """Whether a condition holds. A comparison of values that have no order does not."""
    try:
        return bool(condition(names))
    except TypeError:
        return False


def _compiled(node: ast.expr) -> Condition:
    match node:
        case ast.BoolOp(op=op, values=values):
            parts = list(map(_compiled, values))
            decide = all if isinstance(op, ast.And) else any
            return lambda names: decide(is_met(part, names) for part in parts)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            denied = _compiled(operand)
            return lambda names: not is_met(denied, names)
        case ast.Compare(left=one, ops=[op], comparators=[other]) if type(op) in _COMPARED:
            left, compare, right = _compiled(one), _COMPARED[type(op)], _compiled(other)
            return lambda names: compare(left(names), right(names))
        case (
            ast.Attribute(value=value, attr=key)
            | ast.Subscript(value=value, slice=ast.Constant(value=str() | int() as key))
        ):
            whole = _compiled(value)
            return lambda names: _part(whole(names), key)
        case ast.List(elts=values):
            items = list(map(_compiled, values))
            return lambda names: [item(names) for item in items]
        case ast.Constant(value=None | str() | int() | float() as constant):
            return lambda names: constant
        case ast.Name(id=name) if name in NAMES:
            return lambda names: names[name]
        case ast.Name(id=name):
            raise ValueError(f"has no {name!r}; there are: {', '.join(NAMES)}")
    raise ValueError(f"may only compare values; {ast.unparse(node)!r} does more")


def _part(whole: Any, name: Any) -> Any:
    if isinstance(whole, dict):
        return whole.get(name)
    if isinstance(whole, list) and isinstance(name, int):
        return whole[name] if 0 <= name < len(whole) else None
    return None
