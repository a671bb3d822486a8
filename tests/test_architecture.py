"""The layers of the code, and which module may import which."""

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
PACKAGE = PROJECT / "sandbox"
KIT = PROJECT / "pytest-uat-sandbox" / "uat_sandbox"

LAYERS = (
    {"domain", "measurements"},
    {"scenarios", "store"},
    {"tokens", "webhooks"},
    {"worlds"},
    {"library", "platform"},
    {"cluster", "control"},
    {"app", "http_client", "middleware", "scenario_examples", "settings", "startup"},
    {"__main__", "cli", "conformance", "doctor", "server"},
)
"""A module imports packages of lower layers and its own."""

FREE_FROM = 6
"""From this layer up, the modules of one layer may import each other."""

RANKS = {name: rank for rank, names in enumerate(LAYERS) for name in names}

THIRD_PARTIES = {
    "pydantic": ("",),
    "pydantic_core": ("",),
    "msgspec": ("",),
    "starlette": (
        "platform/",
        "control/",
        "middleware.py",
        "http_client.py",
        "app.py",
        "server/",
        "scenario_examples/",
    ),
    "uvicorn": ("server/",),
    "httptools": ("server/protocol.py"),
    "click": ("cli/"),
    "tinydb": ("store/files/json_file.py",),
    "cryptography": ("server/authority.py",),
    "filelock": ("store/files/disk.py", "server/authority.py"),
    "prometheus_client": ("measurements.py",),
    "faker": ("store/generated_data.py",),
    "aiohttp": ("webhooks/client.py", "cluster/forwarding.py"),
    # Part of the interface of aiohttp, and installed with it.
    "yarl": ("cluster/forwarding.py",),
    "asyncpg": ("cluster/",),
    "standardwebhooks": ("webhooks/signing.py",),
    "httpx2": (
        "cli/",
        "http_client.py",
        "scenario_examples/",
        "conformance/",
        "doctor/",
    ),
}
"""Package to where it may be imported: in the files whose path begins like that."""

LINES_OF_A_FILE_MAX = 500
LINES_OF_A_FUNCTION_MAX = 60

FILES = sorted(PACKAGE.rglob("*.py"))
KIT_FILES = sorted(KIT.rglob("*.py"))


def _name(path: Path) -> str:
    return path.relative_to(KIT if path.is_relative_to(KIT) else PACKAGE).as_posix()


@cache
def _nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def _module(path: Path) -> str:
    package = "uat_sandbox." if path.is_relative_to(KIT) else "sandbox."
    return package + _name(path).removesuffix(".py").replace("/", ".").removesuffix(".__init__")


MODULES = {_module(path): path for path in [*FILES, *KIT_FILES]}


def _names_of(node: ast.Import | ast.ImportFrom) -> list[str]:
    """The modules that it imports; `from sandbox import library` imports one too."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    assert node.level == 0, f"a relative import of {node.module}"
    full = [f"{node.module}.{alias.name}" for alias in node.names]
    return [name if name in MODULES else str(node.module) for name in full]


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    """Every module that the file imports, wherever in it, with its line; also for types only."""
    for node in _nodes(path):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((node.lineno, name) for name in _names_of(node))


def _imports_with(files: Iterable[Path], is_wrong: Callable[[str, str], bool]) -> list[str]:
    """The imports of files that are so, asked for the name of the file and of the module."""
    return [
        f"{_name(path)}:{line}: {module}"
        for path in files
        for line, module in _imports(path)
        if is_wrong(_name(path), module)
    ]


def _may_import(name: str, module: str) -> bool:
    own, other = name.split("/")[0].removesuffix(".py"), module.split(".")[1]
    is_lower = RANKS[other] < RANKS[own]
    return own == other or is_lower or RANKS[other] == RANKS[own] >= FREE_FROM


def test_a_module_imports_only_lower_packages_and_its_own():
    def is_wrong(name: str, module: str) -> bool:
        return module.startswith("sandbox.") and not _may_import(name, module)

    assert _imports_with(FILES, is_wrong) == []


def test_no_import_circle_exists_not_even_inside_a_package():
    """Imports inside functions and under TYPE_CHECKING count."""
    graph = {
        module: {one for _, one in _imports(path) if one in MODULES}
        - {module, "sandbox", "uat_sandbox.__init__"}
        for module, path in MODULES.items()
    }
    sorter = TopologicalSorter(graph)

    sorter.prepare()


def test_only_the_list_of_commands_names_modules_to_load():
    naming = {_name(path) for path in FILES if "import_module" in path.read_text("utf-8")}

    assert naming == {"cli/main.py"}


def _classes() -> Iterator[tuple[str, str]]:
    for path in FILES:
        for node in _nodes(path):
            if isinstance(node, ast.ClassDef):
                yield node.name, _name(path)


def test_a_class_name_is_used_once_in_a_package():
    users: dict[tuple[str, str], list[str]] = {}
    for name, path in _classes():
        users.setdefault((path.split("/")[0], name), []).append(path)

    assert {name: paths for name, paths in users.items() if len(paths) > 1} == {}


@pytest.mark.parametrize("name", ["Answer", "Page", "Outcome", "Server"])
def test_the_most_common_names_mean_one_thing_in_the_whole_package(name):
    assert len([path for found, path in _classes() if found == name]) <= 1


def _is_third_party(module: str) -> bool:
    return module.split(".")[0] not in sys.stdlib_module_names


def test_third_party_packages_stay_where_they_are_needed():
    def strays(name: str, module: str) -> bool:
        places = {"sandbox": ("",), **THIRD_PARTIES}.get(module.split(".")[0], ("nowhere",))
        return _is_third_party(module) and not name.startswith(places)

    assert _imports_with(FILES, strays) == []


def test_the_kit_needs_pytest_and_what_verifies_webhooks_and_nothing_else():
    """Scripts use the kit without pytest, which its plugin alone needs."""
    wanted = {"uat_sandbox", "standardwebhooks", "sandbox", "httpx2"}
    of_plugin = {*wanted, "pytest"}

    def is_wrong(name: str, module: str) -> bool:
        allowed = of_plugin if name.endswith("plugin.py") else wanted
        return _is_third_party(module) and module.split(".")[0] not in allowed

    assert _imports_with(KIT_FILES, is_wrong) == []


def test_the_kit_knows_one_module_of_the_server():
    """Beside it: settings, which people write, and types of values that it passes on."""
    at_runtime = {
        module
        for path in KIT_FILES
        for node in _nodes(path)
        if isinstance(node, ast.FunctionDef)
        for inner in ast.walk(node)
        if isinstance(inner, ast.ImportFrom)
        if (module := inner.module or "").split(".")[0] == "sandbox"
    }

    assert at_runtime == {"sandbox.server.embedded", "sandbox.settings"}


def test_no_file_is_longer_than_500_lines():
    lengths = {
        _name(path): len(path.read_text("utf-8").splitlines()) for path in [*FILES, *KIT_FILES]
    }

    assert {name: size for name, size in lengths.items() if size > LINES_OF_A_FILE_MAX} == {}


def test_no_test_module_imports_another():
    wrong = [
        f"{path.relative_to(PROJECT)}: {module}"
        for path in (PROJECT / "tests").rglob("*.py")
        for module in re.findall(r"^ *from (\S+\.test_\S+) import", path.read_text("utf-8"), re.M)
    ]

    assert wrong == []


def test_no_function_is_longer_than_60_lines():
    long = [
        f"{_name(path)}: {node.name}: {node.end_lineno - node.lineno + 1}"
        for path in [*FILES, *KIT_FILES]
        for node in _nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > LINES_OF_A_FUNCTION_MAX
    ]

    assert long == []


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        (
            "sandbox.cli.main",
            "uvicorn starlette tinydb filelock faker aiohttp freezegun httpx2 asyncio",
        ),
        ("sandbox.server", "tinydb filelock faker httpx2 freezegun sqlite3 pytest"),
        ("sandbox.app", "uvicorn faker httpx2 freezegun click"),
        ("uat_sandbox.plugin", "sandbox httpx2 standardwebhooks http.client uat_sandbox.server"),
    ],
)
def test_importing_a_module_brings_nothing_that_is_not_needed_yet(module, unwanted):
    program = f"import sys, {module}; print(*sorted(sys.modules))"

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, cwd=PROJECT
    )

    assert done.returncode == 0, done.stderr
    assert sorted(set(done.stdout.split()) & set(unwanted.split())) == []


def test_importing_everything_prints_nothing_and_starts_nothing():
    modules = [
        _module(path)
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
        timeout=120,
        cwd=PROJECT,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
