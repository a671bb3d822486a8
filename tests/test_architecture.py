"""The rooms and who may import whom."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
PACKAGE = PROJECT / "sandbox"

RANKS = {
    "domain": 0,
    "scenarios": 1,
    "store": 1,
    "webhooks": 2,
    "worlds": 3,
    "platform": 4,
    "control": 5,
    "settings": 6,
    "descriptors": 6,
    "library": 6,
    "tokens": 6,
    "surfaces": 6,
    "app": 6,
    "http": 7,
    "server": 7,
    "cli": 7,
    "webhook_doctor": 7,
    "testing": 7,
    "scenario_examples": 7,
    "scenario_reload": 7,
    "__main__": 7,
}
"""A module imports rooms of lower ranks and its own."""

TOGETHER = [
    {"settings", "descriptors", "library", "tokens", "surfaces", "app"},
    {
        "http",
        "server",
        "cli",
        "webhook_doctor",
        "testing",
        "scenario_examples",
        "scenario_reload",
        "__main__",
    },
]
"""Single modules that share a rank and make one room."""

THIRD_PARTIES = {
    "pydantic": ("",),
    "pydantic_core": ("",),
    "starlette": ("platform/", "control/", "surfaces.py", "app.py"),
    "uvicorn": ("http/", "server.py"),
    "uvloop": ("server.py",),
    "httptools": ("http/",),
    "click": ("cli/"),
    "sortedcontainers": ("store/",),
    "jiter": ("platform/wire.py",),
    "tinydb": ("store/files/json_file.py", "store/files/json_reading.py"),
    "filelock": ("store/files/disk.py",),
    "faker": ("store/generated_data.py",),
    "aiohttp": ("webhooks/connections.py", "webhooks/sender.py"),
    "standardwebhooks": ("webhooks/signing.py", "testing/"),
    "httpx2": ("cli/", "webhook_doctor/", "testing/"),
    "pytest": ("testing/",),
}
"""Package to where it may be imported: in the files whose path begins like that."""

LINES_OF_A_FILE_MAX = 400
LINES_OF_A_FUNCTION_MAX = 60

FILES = sorted(PACKAGE.rglob("*.py"))


def _name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def _room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def _nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    """Every module that the file imports, wherever in it, with its line."""
    for node in _nodes(path):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} is a relative import"
            if node.module == "sandbox":
                # `from sandbox import library` imports a module; a plain name of it does not.
                yield from ((node.lineno, f"sandbox.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, node.module or ""


def _own_room(one: str, other: str) -> bool:
    return one == other or any({one, other} <= rooms for rooms in TOGETHER)


def test_every_room_has_a_rank():
    rooms = {_room(path) for path in FILES} - {"__init__"}

    assert rooms <= set(RANKS)


def test_a_module_imports_only_lower_rooms_and_its_own():
    wrong = [
        f"{_name(path)}:{line}: {module}"
        for path in FILES
        for line, module in _imports(path)
        if module.startswith("sandbox.")
        and (other := module.split(".")[1]) != "__version__"
        and not _own_room(_room(path), other)
        and RANKS[other] >= RANKS[_room(path)]
    ]

    assert wrong == []


def test_third_party_packages_stay_where_they_are_needed():
    wrong = [
        f"{_name(path)}:{line}: {module}"
        for path in FILES
        for line, module in _imports(path)
        if (package := module.split(".")[0]) not in sys.stdlib_module_names
        and package != "sandbox"
        and not _name(path).startswith(THIRD_PARTIES.get(package, ("nowhere",)))
    ]

    assert wrong == []


def test_the_domain_knows_only_itself_pydantic_and_what_is_pure_of_the_standard_library():
    impure = {"asyncio", "http", "os", "random", "secrets", "socket", "threading", "time"}

    wrong = [
        f"{_name(path)}:{line}: {module}"
        for path in FILES
        if _room(path) == "domain"
        for line, module in _imports(path)
        if not module.startswith(("sandbox.domain", "pydantic"))
        and (module.split(".")[0] not in sys.stdlib_module_names or module in impure)
    ]

    assert wrong == []


def test_the_domain_asks_nobody_for_the_time():
    wrong = [
        f"{_name(path)}:{node.lineno}"
        for path in FILES
        if _room(path) == "domain"
        for node in _nodes(path)
        if isinstance(node, ast.Attribute) and node.attr in {"now", "utcnow", "today", "uuid4"}
    ]

    assert wrong == []


def test_no_file_is_longer_than_400_lines():
    lengths = {_name(path): len(path.read_text("utf-8").splitlines()) for path in FILES}

    assert {name: size for name, size in lengths.items() if size > LINES_OF_A_FILE_MAX} == {}


def test_no_function_is_longer_than_60_lines():
    long = [
        f"{_name(path)}: {node.name}: {node.end_lineno - node.lineno + 1}"
        for path in FILES
        for node in _nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > LINES_OF_A_FUNCTION_MAX
    ]

    assert long == []


def test_no_function_declares_a_global():
    wrong = [
        f"{_name(path)}:{node.lineno}"
        for path in FILES
        for node in _nodes(path)
        if isinstance(node, ast.Global)
    ]

    assert wrong == []


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        (
            "sandbox.cli.main",
            "uvicorn starlette tinydb filelock faker aiohttp freezegun httpx2 pydantic asyncio",
        ),
        ("sandbox.server", "tinydb filelock faker aiohttp httpx2 freezegun sqlite3 pytest"),
        ("sandbox.app", "uvicorn tinydb filelock faker aiohttp httpx2 freezegun sqlite3 click"),
    ],
)
def test_importing_a_module_brings_nothing_that_is_not_needed_yet(module, unwanted):
    program = f"import sys, {module}; print(*sorted(sys.modules))"

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, cwd=PROJECT
    )

    assert done.returncode == 0, done.stderr
    assert sorted(set(done.stdout.split()) & set(unwanted.split())) == []


def test_importing_everything_prints_nothing_and_starts_nothing():
    modules = [
        "sandbox." + _name(path).removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        for path in FILES
        if path.name != "__main__.py" and _name(path) != "__init__.py"
    ]
    program = (
        f"import threading, {', '.join(modules)}\n"
        "assert threading.active_count() == 1, threading.enumerate()"
    )

    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        timeout=30,
        cwd=PROJECT,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
