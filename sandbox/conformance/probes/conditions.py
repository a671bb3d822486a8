"""The conditions of probes: comparisons of what was answered, in a few words of Python's grammar.

A condition has the names `status`, `headers` and `body` of the last answer; `answers`, the list
of all; and `own`, the record of the key that asks. What an answer does not have is None. Nothing is
called, and nothing is evaluated by Python.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

NAMES: Final = ("status", "headers", "body", "answers", "own")
CHARS_MAX: Final = 500

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


class ConditionError(ValueError):
    """The text is no condition; the message says why."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that was checked."""

    text: str
    _tree: ast.expr

    def holds(self, names: Mapping[str, Any]) -> bool:
        """Whether it holds. A comparison of values that have no order does not."""
        try:
            return bool(_value(self._tree, names))
        except TypeError:
            return False


def parse_condition(text: str) -> Condition:
    """The condition in a text. Raises ConditionError."""
    if len(text) > CHARS_MAX:
        raise ConditionError(f"is longer than {CHARS_MAX} characters")
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ConditionError(
            "cannot be read; write it like status == 200 and body.total > 0"
        ) from None
    _check(tree)
    return Condition(text, tree)


def _check(node: ast.expr) -> None:
    match node:
        case ast.BoolOp(values=parts) | ast.List(elts=parts):
            inner = parts
        case ast.UnaryOp(op=ast.Not(), operand=part) | ast.Attribute(value=part):
            inner = [part]
        case ast.Compare(left=left, ops=[one], comparators=[right]) if type(one) in _COMPARED:
            inner = [left, right]
        case ast.Subscript(value=part, slice=ast.Constant(value=str() | int())):
            inner = [part]
        case ast.Constant(value=None | str() | int() | float()):
            inner = []
        case ast.Name(id=name) if name in NAMES:
            inner = []
        case ast.Name(id=name):
            raise ConditionError(f"has no {name!r}; there are: {', '.join(NAMES)}")
        case _:
            raise ConditionError(f"may only compare values; {ast.unparse(node)!r} does more")
    for part in inner:
        _check(part)


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(_holds(part, names) for part in parts)
        case ast.BoolOp(values=parts):
            return any(_holds(part, names) for part in parts)
        case ast.UnaryOp(operand=inner):
            return not _holds(inner, names)
        case ast.Compare(left=left, ops=[one], comparators=[right]):
            return _COMPARED[type(one)](_value(left, names), _value(right, names))
        case ast.Attribute(value=inner, attr=name):
            return _part(_value(inner, names), name)
        case ast.Subscript(value=inner, slice=ast.Constant(value=name)):
            return _part(_value(inner, names), name)
        case ast.List(elts=parts):
            return [_value(part, names) for part in parts]
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return names[name]
    raise AssertionError(ast.dump(node))


def _holds(node: ast.expr, names: Mapping[str, Any]) -> bool:
    """Whether a part holds; what cannot be compared does not."""
    try:
        return bool(_value(node, names))
    except TypeError:
        return False


def _part(whole: Any, name: Any) -> Any:
    if isinstance(whole, dict):
        return whole.get(name)
    if isinstance(whole, list) and isinstance(name, int):
        return whole[name] if 0 <= name < len(whole) else None
    return None
