"""The names of the code: modules are nouns, and functions are verbs."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("sandbox", "pytest-uat-sandbox/uat_sandbox")

NOUNS = {"embedded", "finding", "forwarding", "pricing", "routing", "signing", "waiting"}
"""Modules whose names end like a verb and are nouns of the field."""

_WORDS = """
announced asked begun brought captured changed chosen counted decided done drawn explained found
given heard held joined kept known left listed made masked named noted opened proved refused
rendered repeated reserved restored said scrubbed seen sent shown stored taken told tried used
waiting wanted written
"""
PARTICIPLES = frozenset(_WORDS.split())
"""First words that say what a function gives, where a verb says what it does."""

QUESTIONS = re.compile(r"_*(is|are|was|has|can|may|should|needs|matches|accepts)(_|$)")
"""How the names of booleans begin."""

_WORDS = """
allowed bypass delivered disabled expired genuine possible proved signed_in
surcharge_applied surcharge_confirmation_required tells_amounts
before confirm include_transactions more ok pure strict wait
before_answer drop stale_timestamp
explain_headers known_keys log_requests reasons receives_webhooks shared tls watch
"""
FACES = frozenset(_WORDS.split())
"""Booleans that users see by these names: fields of the APIs, of files and of the kit, options."""

_WORDS = """
answer approve_in_part carry exchange field_title_should_be_set forward learn
remove wait_for_more_than
"""
ACTIONS = frozenset(_WORDS.split())
"""Functions that do something, and tell whether they could."""

GIVES_A_VALUE = {"property", "cached_property", "fixture", "contextmanager", "asynccontextmanager"}
"""Decorators of functions that are read like a value, which nouns name."""


def _modules() -> Iterator[Path]:
    for package in PACKAGES:
        yield from (ROOT / package).rglob("*.py")


@cache
def _nodes() -> list[tuple[str, ast.AST]]:
    """List what could have a name, with its place."""
    return [
        (f"{path.relative_to(ROOT)}:{node.lineno}", node)
        for path in _modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.AnnAssign)
    ]


def _is_called(node: ast.AST) -> bool:
    """Whether this is a function that is not read like a value."""
    decorators = [ast.unparse(one) for one in getattr(node, "decorator_list", ())]
    names = {one.split("(")[0].rpartition(".")[2] for one in decorators}
    return not isinstance(node, ast.AnnAssign) and not names & GIVES_A_VALUE


def test_modules_are_named_by_nouns():
    names = [path.stem for path in _modules()]

    assert [one for one in names if re.search(r"(ing|ed)$", one) and one not in NOUNS] == []


def test_functions_are_named_by_verbs():
    found = [
        f"{place} {node.name}"
        for place, node in _nodes()
        if _is_called(node) and node.name.lstrip("_").partition("_")[0] in PARTICIPLES
    ]

    assert found == []


def _booleans() -> Iterator[tuple[str, str]]:
    """Yield the names of functions that give a boolean, and of attributes that are one."""
    for place, node in _nodes():
        match node:
            case ast.AnnAssign(target=ast.Name(id=name) | ast.Attribute(attr=name)):
                kind = node.annotation
            case ast.FunctionDef(returns=kind) | ast.AsyncFunctionDef(returns=kind) if kind:
                name = node.name
            case _:
                continue
        if re.match(r"(Annotated\[)?bool\b", ast.unparse(kind)):
            yield name, f"{place} {name}"


def test_booleans_are_named_by_questions():
    found = dict(_booleans())

    allowed = FACES | ACTIONS
    assert [
        place
        for name, place in found.items()
        if not QUESTIONS.match(name)
        and not name.startswith("__")
        and name.lstrip("_") not in allowed
    ] == []
    assert allowed - {name.lstrip("_") for name in found} == set()
