"""The tests that prove each clause. They are known in a checkout only: a package has no tests.

A test names its clauses with `@pytest.mark.proves("spec 4.1, 4.2", "assumed C5")`. It must fail
when one of them is broken. The marks are read from the source of the tests, without an import.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

_PROJECT: Final = Path(__file__).parents[2]
_TESTS: Final = _PROJECT / "tests"
_CLAUSES: Final = _PROJECT / "spec" / "clauses.toml"

_MARK: Final = "pytest.mark.proves"
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)

_ID: Final = r"[A-Z]?\d+(?:\.\d+)*(?:-[a-z0-9]+(?:[._-][a-z0-9]+)*)?"
_CITATION: Final = re.compile(rf"\b(spec|assumed)\s+({_ID}(?:(?:,| and| to)\s+{_ID}\b)*)")
_LISTED: Final = re.compile(rf"(spec|assumed) {_ID}(?:, {_ID})*")

CHECKOUT_COMMAND: Final = "make ledger"
"""The command that writes the whole ledger, with every test, in a checkout."""


def citations(text: str) -> Iterator[tuple[str, str]]:
    """Kind and id of everything cited: also "spec 4.1, 4.2" and citations over a line break."""
    # A formatted id is completed with the events; they have a test of their own.
    plain = re.sub(r"\s+#?\s*", " ", text.replace("6.3-{", "{"))
    for kind, ids in _CITATION.findall(plain):
        yield from ((kind, id) for id in re.findall(_ID, ids))


def is_list(text: str) -> bool:
    """Whether the text is clauses of one kind and nothing else: "spec 4.1, 4.2"."""
    return _LISTED.fullmatch(text) is not None


def by_clause(cited: Iterable[tuple[str, str]]) -> dict[tuple[str, str], dict[str, None]]:
    """The clauses that texts cite, each with the places of those texts, in order."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for place, text in cited:
        for clause in citations(text):
            found.setdefault(clause, {})[place] = None
    return found


def marks_in(text: str, place: str) -> list[tuple[str, str]]:
    """The marks of one file: the node id of every marked test, with each text of its marks.

    A mark on a class or in `pytestmark` counts for each test inside.
    """
    tree = ast.parse(text)
    return list(_tests_in(tree.body, place, _of_module(tree)))


def _tests_in(body: Iterable[ast.stmt], place: str, shared: list[str]) -> Iterator[tuple[str, str]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _tests_in(node.body, f"{place}::{node.name}", [*shared, *_own(node)])
        elif isinstance(node, _FUNCTIONS) and node.name.startswith("test_"):
            yield from ((f"{place}::{node.name}", word) for word in (*shared, *_own(node)))


def _own(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    return [word for decorator in node.decorator_list for word in _arguments(decorator)]


def _of_module(tree: ast.Module) -> list[str]:
    return [
        word
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
        for word in _arguments(node.value)
    ]


def _arguments(node: ast.expr) -> Iterator[str]:
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == _MARK:
            yield from map(ast.literal_eval, call.args)


@cache
def marks() -> tuple[tuple[str, str], ...]:
    """The marks of all tests, in the order of their files; none outside a checkout."""
    found: list[tuple[str, str]] = []
    if _CLAUSES.is_file():
        for path in sorted(_TESTS.rglob("test_*.py")):
            text = path.read_text(encoding="utf-8")
            if f"{_MARK}(" in text:
                found += marks_in(text, path.relative_to(_PROJECT).as_posix())
    return tuple(found)


@cache
def tests_by_clause() -> Mapping[str, list[str]] | None:
    """The ids of the tests of each clause ("spec 4.1"), or None outside a checkout."""
    if not marks():
        return None
    return {f"{kind} {id}": list(tests) for (kind, id), tests in by_clause(marks()).items()}
