"""The pytest plugin: a sandbox in the test's process, and a fresh world for each test.

Every run of pytest loads it if the package is installed, so it imports nothing heavy before a test
needs a sandbox.
"""

import json
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from sandbox.settings import Settings
    from sandbox.testing.coverage import Coverage
    from sandbox.testing.server import Server
    from sandbox.testing.world import World

_OPTIONS: Final = {
    "sandbox_url": "URL of a sandbox that runs elsewhere; without it one runs in this process",
    "sandbox_control_url": "URL of its control API, if that has a port of its own",
    "sandbox_token": "bearer token of its control API",
    "sandbox_receiver_host": "name or address at which it reaches this machine's webhook receiver",
}
"""Each is a command-line option, an environment variable, and a setting of pytest. The first of
them counts."""

_MARKER: Final = (
    "sandbox(seed=, clock=, fixture=, scenario=, switches=, invent=, name=): how the world of the "
    "fixture `sandbox` begins"
)

_WORLDS: Final = pytest.StashKey[list["World"]]()
_COVERAGE: Final = pytest.StashKey[list["Coverage"]]()
_OUTPUT: Final = "uat_sandbox_coverage"


# --- options ----------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options to the command line and to the configuration."""
    group = parser.getgroup("uat-sandbox", "payment sandbox")
    for name, help in _OPTIONS.items():
        group.addoption(
            f"--{name.replace('_', '-')}", dest=name, metavar=name.split("_")[-1].upper(), help=help
        )
        parser.addini(name, f"{help} (also {name.upper()} in the environment)", default="")
    group.addoption(
        "--sandbox-coverage",
        nargs="?",
        const="",
        metavar="FILE.json",
        help="print which parts of the platform were used and which were not; write it to a file",
    )


def _option(config: pytest.Config, name: str) -> str | None:
    given: str | None = config.getoption(name)
    return given or os.environ.get(name.upper()) or config.getini(name) or None


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and refuse unusable options before any test runs."""
    config.addinivalue_line("markers", _MARKER)
    _leave_as_compiled(config)
    config.stash[_COVERAGE] = []
    file = config.getoption("sandbox_coverage")
    if not file:
        return
    if not file.endswith(".json"):
        # pytest takes the next argument as the option's file; don't let it overwrite a test file.
        raise pytest.UsageError(
            f"--sandbox-coverage: {file!r} does not end with .json; name a file like "
            "--sandbox-coverage=coverage.json, or give the option last"
        )
    if not Path(file).absolute().parent.is_dir():
        raise pytest.UsageError(f"--sandbox-coverage: there is no folder for {file}")


def _leave_as_compiled(config: pytest.Config) -> None:
    """Keep pytest from recompiling the whole package to rewrite its asserts.

    It does that for every module of a package that has a plugin. If a version of pytest lists them
    differently, the first run takes a second longer, and nothing else changes.
    """
    marked = getattr(config.pluginmanager.rewrite_hook, "_must_rewrite", None)
    if isinstance(marked, set):
        marked.discard("sandbox")


# --- fixtures ---------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def sandbox_settings() -> "Settings":
    """How the sandbox of this test run is set up: to be overridden in a conftest.py."""
    from sandbox.settings import Settings

    return Settings()


@pytest.fixture(scope="session")
def sandbox_server(pytestconfig: pytest.Config, sandbox_settings: "Settings") -> "Iterator[Server]":
    """The sandbox of this test run, and of this process of it."""
    from sandbox.settings import SettingsError
    from sandbox.testing import server
    from sandbox.testing.control import SandboxError

    url = _option(pytestconfig, "sandbox_url")
    with _without_traceback("sandbox", SandboxError, SettingsError):
        if url is None:
            opening = server.sandbox_server(sandbox_settings)
        else:
            opening = server.sandbox_at(
                url,
                token=_option(pytestconfig, "sandbox_token"),
                control_url=_option(pytestconfig, "sandbox_control_url"),
                receiver_host=_option(pytestconfig, "sandbox_receiver_host"),
                api_key_header=sandbox_settings.profile.api_key_header,
            )
        opened = opening.__enter__()
    try:
        yield opened
        if _wants_coverage(pytestconfig):
            with _without_traceback("--sandbox-coverage", SandboxError):
                pytestconfig.stash[_COVERAGE].append(opened.coverage())
    finally:
        opening.__exit__(None, None, None)


@pytest.fixture
def sandbox(request: pytest.FixtureRequest, sandbox_server: "Server") -> "Iterator[World]":
    """A fresh world of the sandbox, with everything to steer and to watch it."""
    from sandbox.testing.control import SandboxError

    options = _of_marker(request.node)
    name = request.node.nodeid.partition("[")[0][-200:]
    with _without_traceback("the world of this test", SandboxError, ValueError):
        world = sandbox_server.world(**{"name": name, **options})
    world.notes_coverage = _wants_coverage(request.config)
    request.node.stash.setdefault(_WORLDS, []).append(world)
    yield world
    world.close()


def _of_marker(node: pytest.Item) -> dict[str, Any]:
    """The world options in the markers of a test; the closest marker wins."""
    from sandbox.domain.words import did_you_mean
    from sandbox.testing.server import WORLD_OPTIONS

    options: dict[str, Any] = {}
    for marker in node.iter_markers("sandbox"):
        if marker.args:
            pytest.fail(f"@pytest.mark.sandbox: name what {marker.args[0]!r} is", pytrace=False)
        for name, value in marker.kwargs.items():
            if name not in WORLD_OPTIONS:
                pytest.fail(
                    f"@pytest.mark.sandbox: there is no {name!r}"
                    f"{did_you_mean(name, WORLD_OPTIONS)} (there are: {', '.join(WORLD_OPTIONS)})",
                    pytrace=False,
                )
            options.setdefault(name, value)
    return options


@contextmanager
def _without_traceback(what: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn these errors into a test failure with their message, without a traceback."""
    try:
        yield
    except errors as error:
        pytest.fail(f"{what}: {error}", pytrace=False)


# --- reporting --------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the journal of its worlds to the report of a test that failed."""
    report = yield
    worlds = item.stash.get(_WORLDS, [])
    if worlds and report.failed and call.when != "teardown":
        from sandbox.testing.report import TITLE
        from sandbox.testing.report import report as journal

        report.sections.append((TITLE, journal(worlds)))
    return report


def _wants_coverage(config: pytest.Config) -> bool:
    return config.getoption("sandbox_coverage") is not None


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add the coverage of a pytest-xdist worker."""
    seen = getattr(node, "workeroutput", {}).get(_OUTPUT, "[]")
    node.config.stash[_COVERAGE].extend(json.loads(seen))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Pass on this worker's coverage, or write the coverage of all workers."""
    config = session.config
    seen = config.stash[_COVERAGE]
    output = getattr(config, "workeroutput", None)
    if output is not None:
        output[_OUTPUT] = json.dumps(seen)
    elif (file := config.getoption("sandbox_coverage")) and seen:
        from sandbox.testing.coverage import merged

        Path(file).write_text(json.dumps(merged(seen), indent=2) + "\n", encoding="utf-8")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print which parts of the platform the tests used."""
    if not _wants_coverage(config):
        return
    from sandbox.testing.coverage import merged, table

    terminalreporter.section("sandbox coverage")
    seen = config.stash[_COVERAGE]
    for line in table(merged(seen)) if seen else ["no test used the sandbox"]:
        terminalreporter.write_line(line)
