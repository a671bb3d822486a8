"""The pytest plugin: a sandbox for the tests, and a fresh world for each of them.

Every run of pytest loads it if the kit is installed, so it imports nothing heavy before a test
needs a sandbox.
"""

import json
import os
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from sandbox.settings import Settings
    from uat_sandbox.captures import Captures
    from uat_sandbox.coverage import Coverage
    from uat_sandbox.finding import Place
    from uat_sandbox.server import Server
    from uat_sandbox.world import World

__tracebackhide__ = True

_OPTIONS: Final = {
    "sandbox_url": "URL of a running sandbox",
    "sandbox_command": "command that serves a sandbox for this run, such as "
    "'uvx --from WHEEL uat-sandbox'",
    "sandbox_control_url": "URL of its control API, if that has its own port",
    "sandbox_token": "bearer token of its control API",
    "sandbox_receiver_host": "name or address at which it reaches this machine's webhook receiver",
    "sandbox_seed": "seed of all worlds, or `test` (the default): each test has its own",
}
"""Each is a command-line option, an environment variable, and a setting of pytest, which count in
this order."""

_MARKER: Final = (
    "sandbox(seed=, clock=, fixture=, scenario=, switches=, readings=, invent=, name=): how the "
    "world of the fixture `sandbox` begins"
)

_SERVER: Final = pytest.StashKey["Server"]()
_COVERAGE: Final = pytest.StashKey[list["Coverage"]]()
_OUTPUT: Final = "uat_sandbox_coverage"
_CAPTURES: Final = pytest.StashKey["Captures"]()
_CAPTURED: Final = "uat_sandbox_captures"


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
    group.addoption(
        "--sandbox-report",
        metavar="DIR",
        help="write a capture of each world that a failed test used, and report.html to read them",
    )


def _option(config: pytest.Config, name: str) -> tuple[str | None, str]:
    """Return the value of an option and where it was given."""
    for value, origin in (
        (config.getoption(name), f"from --{name.replace('_', '-')}"),
        (os.environ.get(name.upper()), f"from {name.upper()} in the environment"),
        (config.getini(name), f"from {name} in the configuration of pytest"),
    ):
        if value:
            return str(value), origin
    return None, ""


def _folder_of(config: pytest.Config, name: str) -> Path | None:
    """Return the folder of the configuration if it gives this option, for relative paths."""
    is_given_elsewhere = config.getoption(name) or os.environ.get(name.upper())
    return None if is_given_elsewhere or config.inipath is None else config.inipath.parent


def _place(config: pytest.Config) -> "Place":
    """Return where the sandbox is, for the header and the fixture."""
    from uat_sandbox.finding import place

    url, url_origin = _option(config, "sandbox_url")
    command, command_origin = _option(config, "sandbox_command")
    origins = {"sandbox_url": url_origin, "sandbox_command": command_origin}
    return place(url, command, origins, _folders(config))


def _folders(config: pytest.Config) -> list[Path]:
    """Return the project's folders from which tests import; some are put on the path only later."""
    configured = [config.rootpath / str(one) for one in config.getini("pythonpath")]
    return [config.invocation_params.dir, config.rootpath, *configured]


def pytest_report_header(config: pytest.Config) -> str:
    """Say where the sandbox is."""
    return f"sandbox: {_place(config)}"


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and refuse unusable options before any test runs."""
    config.addinivalue_line("markers", _MARKER)
    _leave_as_compiled(config)
    config.stash[_COVERAGE] = []
    _begin_captures(config)
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


def _begin_captures(config: pytest.Config) -> None:
    """Prepare the folder of the report, once in a run of several processes."""
    if not (folder := config.getoption("sandbox_report")):
        return
    from uat_sandbox.captures import Captures, begin

    worker: dict[str, str] = getattr(config, "workerinput", {})
    # Absolute, because a test may change the current folder.
    path = Path(folder).absolute()
    config.stash[_CAPTURES] = Captures(path, worker.get("workerid", ""))
    try:
        if not worker:
            begin(path)
    except OSError as error:
        raise pytest.UsageError(f"--sandbox-report: {folder} cannot be used: {error}") from None


def _captures(config: pytest.Config) -> "Captures | None":
    return config.stash.get(_CAPTURES, None)


def _leave_as_compiled(config: pytest.Config) -> None:
    """Keep pytest from recompiling the whole package to rewrite its asserts.

    It does that for every module of a package with a plugin. If another version of pytest works
    differently, the first run takes a second longer, and nothing else changes.
    """
    marked = getattr(config.pluginmanager.rewrite_hook, "_must_rewrite", None)
    if isinstance(marked, set):
        marked.discard("uat_sandbox")


# --- fixtures ---------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def sandbox_settings(pytestconfig: pytest.Config) -> "Settings | None":
    """Return the settings of the sandbox of this test run, to be overridden in a conftest.py.

    None if the package of the server is not installed.
    """
    from uat_sandbox.finding import is_ours

    if not is_ours(_folders(pytestconfig)):
        return None
    from uat_sandbox.collector import without_collector

    with without_collector():
        from sandbox.settings import Settings

    return Settings()


@pytest.fixture(scope="session")
def sandbox_server(
    pytestconfig: pytest.Config, sandbox_settings: "Settings | None"
) -> "Iterator[Server]":
    """Yield the sandbox of this test run, or of this process of a parallel run."""
    from uat_sandbox.errors import SandboxError

    where = _place(pytestconfig)
    with _without_traceback("sandbox", SandboxError, *_start_errors(where)):
        opening = _opening(pytestconfig, where, sandbox_settings)
        opened = opening.__enter__()
    pytestconfig.stash[_SERVER] = opened
    if _captures(pytestconfig):
        opened.take_captures()
    opened.should_derive_seeds, opened.seed = _seeds(pytestconfig, sandbox_settings)
    opened.begin_test(_current_test())
    try:
        yield opened
        if _has_coverage_option(pytestconfig):
            with _without_traceback("--sandbox-coverage", SandboxError):
                pytestconfig.stash[_COVERAGE].append(opened.coverage())
    finally:
        del pytestconfig.stash[_SERVER]
        opening.__exit__(None, None, None)


def _seeds(config: pytest.Config, settings: "Settings | None") -> tuple[bool, int | None]:
    """Return whether each test has its own seeds, and otherwise the seed of all worlds, if any."""
    from uat_sandbox.seeds import BY_TEST

    wanted, origin = _option(config, "sandbox_seed")
    if wanted is not None and wanted != BY_TEST:
        try:
            return False, int(wanted)
        except ValueError:
            raise pytest.UsageError(
                f"sandbox_seed: {wanted!r} ({origin}) is neither a whole number nor `{BY_TEST}`"
            ) from None
    # A seed in the settings is for all worlds.
    is_given = settings is not None and settings.seed != type(settings)().seed
    return wanted is not None or not is_given, None


def _current_test() -> str:
    """Return the id of the running test, from pytest's environment variable."""
    return os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]


def _opening(
    config: pytest.Config, where: "Place", settings: "Settings | None"
) -> AbstractContextManager["Server"]:
    """Return the context manager of the sandbox. Raises SandboxError if there is none."""
    from uat_sandbox import server
    from uat_sandbox.errors import SandboxError

    token, receiver_host = (
        _option(config, name)[0] for name in ("sandbox_token", "sandbox_receiver_host")
    )
    if where.is_here:
        return server.of_this_process(settings)
    if where.command:
        if settings is not None and settings != type(settings)():
            raise SandboxError(
                "the fixture sandbox_settings is for a sandbox in this process; give "
                "--sandbox-command the options of `sandbox serve` instead"
            )
        folder = _folder_of(config, "sandbox_command")
        return server.of_process(
            where.command, folder=folder, token=token, receiver_host=receiver_host
        )
    if where.url is None:
        raise SandboxError(where.why_not)
    return server.sandbox_at(
        where.url,
        token=token,
        control_url=_option(config, "sandbox_control_url")[0],
        receiver_host=receiver_host,
        origin=where.origin,
    )


def _start_errors(where: "Place") -> tuple[type[Exception], ...]:
    """Return the errors that a start in this process can raise besides SandboxError."""
    if not where.is_here:
        return ()
    from uat_sandbox.collector import without_collector

    with without_collector():
        from sandbox.server.embedded import START_ERRORS

    return START_ERRORS


@pytest.fixture
def sandbox(request: pytest.FixtureRequest, sandbox_server: "Server") -> "Iterator[World]":
    """Yield a fresh world of the sandbox, with everything to control and observe it."""
    from uat_sandbox.errors import SandboxError

    options = _of_marker(request.node)
    name = request.node.nodeid.partition("[")[0][-200:]
    if sandbox_server.should_derive_seeds:
        from uat_sandbox.seeds import seed_of

        options.setdefault("seed", seed_of(request.node.nodeid))
    with _without_traceback("the world of this test", SandboxError, ValueError):
        world = sandbox_server.world(**{"name": name, **options})
    world.notes_coverage = _has_coverage_option(request.config)
    yield world
    world.close()


def _of_marker(node: pytest.Item) -> dict[str, Any]:
    """Return the world options in the markers of a test; the closest marker wins."""
    from uat_sandbox.server import WORLD_OPTIONS
    from uat_sandbox.words import did_you_mean

    options: dict[str, Any] = {}
    for marker in node.iter_markers("sandbox"):
        if marker.args:
            pytest.fail(
                f"@pytest.mark.sandbox: name the option of {marker.args[0]!r}", pytrace=False
            )
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
        raise pytest.fail.Exception(f"{what}: {error}", pytrace=False) from None


# --- reporting --------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Note what has happened so far in worlds that outlive this test."""
    if (server := item.config.stash.get(_SERVER, None)) is not None:
        server.begin_test(item.nodeid)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Stop reporting closed worlds: they were reported already, or need not be."""
    if (server := item.config.stash.get(_SERVER, None)) is not None:
        server.end_test()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the journals of all worlds that a failed test used to its report."""
    report = yield
    server = item.config.stash.get(_SERVER, None)
    if server is not None and report.failed and call.when != "teardown":
        from uat_sandbox.report import TITLE
        from uat_sandbox.report import report as journal

        if text := journal(server.observed()):
            report.sections.append((TITLE, text))
        if captures := _captures(item.config):
            captures.take(server, item.nodeid, _why(report))
    return report


def _why(report: pytest.TestReport) -> str:
    """Return in one line why a test failed."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = report.longreprtext if crash is None else crash.message
    return text.strip().partition("\n")[0]


def _has_coverage_option(config: pytest.Config) -> bool:
    return config.getoption("sandbox_coverage") is not None


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add the coverage and the captures of a pytest-xdist worker."""
    seen = getattr(node, "workeroutput", {}).get(_OUTPUT, "[]")
    node.config.stash[_COVERAGE].extend(json.loads(seen))
    if captures := _captures(node.config):
        told = json.loads(getattr(node, "workeroutput", {}).get(_CAPTURED, "[[], null]"))
        captures.taken.extend(told[0])
        captures.problem = captures.problem or told[1]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Pass on the results of this worker, or write those of all workers."""
    config = session.config
    seen = config.stash[_COVERAGE]
    captures = _captures(config)
    output = getattr(config, "workeroutput", None)
    if output is not None:
        output[_OUTPUT] = json.dumps(seen)
        if captures is not None:
            output[_CAPTURED] = json.dumps([captures.taken, captures.problem])
        return
    if captures is not None and captures.taken:
        from uat_sandbox.captures import write_page

        try:
            write_page(captures.folder, captures.taken)
        except OSError as error:
            captures.problem = captures.problem or str(error)
    if (file := config.getoption("sandbox_coverage")) and seen:
        from uat_sandbox.coverage import merged

        Path(file).write_text(json.dumps(merged(seen), indent=2) + "\n", encoding="utf-8")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print where the report is, and which parts of the platform the tests used."""
    _tell_of_captures(terminalreporter, config)
    if not _has_coverage_option(config):
        return
    from uat_sandbox.coverage import merged, table

    terminalreporter.section("sandbox coverage")
    seen = config.stash[_COVERAGE]
    for line in table(merged(seen)) if seen else ["no test used the sandbox"]:
        terminalreporter.write_line(line)


def _tell_of_captures(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print where the report is, or why there is none."""
    captures = _captures(config)
    if captures is None or not (captures.taken or captures.problem):
        return
    from uat_sandbox.captures import PAGE

    terminalreporter.section("sandbox report")
    if captures.problem is not None:
        terminalreporter.write_line(f"the report is not complete: {captures.problem}")
    if captures.taken:
        count = len(captures.taken)
        worlds = "1 world" if count == 1 else f"{count} worlds"
        terminalreporter.write_line(f"{worlds} of failed tests: {captures.folder / PAGE}")
