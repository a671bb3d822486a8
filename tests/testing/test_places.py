"""Where the sandbox of a test run is, and what is said about it."""

import shlex
import sys
from pathlib import Path

import pytest

from tests.testing.conftest import pay
from tests.testing.pytesting import SETTINGS, run_pytest
from uat_sandbox import SandboxError, sandbox_server
from uat_sandbox.finding import place, serving_command
from uat_sandbox.process import sandbox_process

COMMAND = f"{sys.executable} -m sandbox"


def test_the_options_of_a_command_apply_and_its_process_ends_with_the_block():
    command = [sys.executable, "-m", "sandbox", "serve", "--seed", "7", "--host", "0.0.0.0"]
    with sandbox_server(command=[*command, "--webhooks-to", "127.0.0.1"]) as server:
        assert server.url.startswith("http://127.0.0.1:")
        with server.world() as world:
            assert world.view["seed"] == 7
            payment = pay(world)
            world.webhooks.wait_for("transaction.sale", subject=payment["transaction_id"])

    with pytest.raises(SandboxError, match="no sandbox answers"):
        server.world()


def test_a_command_that_serves_nothing_is_reported_with_its_output():
    no_licence = shlex.join([sys.executable, "-c", "import sys; sys.exit('no licence')"])
    for command, said in {
        "/nowhere/sandbox": r"/nowhere/sandbox serve cannot be run: No such file",
        no_licence: r"(?s)ended before it served:\nno licence",
        "'": "is not a command: No closing quotation",
        f"{COMMAND} serve --sed 7": "No such option.*--sed",
    }.items():
        with pytest.raises(SandboxError, match=said), sandbox_server(command=command):
            pass


def test_a_command_that_never_announces_itself_is_not_waited_for_forever():
    silent = [sys.executable, "-c", "import time; print('hello', flush=True); time.sleep(60)"]

    with (
        pytest.raises(SandboxError, match=r"(?s)did not announce in time.*"),
        sandbox_process(silent, start_s=0.01),
    ):
        pass


def test_serve_is_added_to_a_command_that_lacks_it_and_runs_no_container():
    assert serving_command(("uvx", "uat-sandbox")) == ("uvx", "uat-sandbox", "serve")
    assert serving_command(("sandbox", "serve", "--seed", "1"))[-1] == "1"
    assert serving_command(("docker", "run", "uat-sandbox"))[-1] == "uat-sandbox"


def test_a_module_of_the_project_is_distinguished_from_our_package(tmp_path):
    here = Path(__file__).parents[2]
    (tmp_path / "sandbox.py").touch()
    (tmp_path / "plain" / "sandbox").mkdir(parents=True)

    assert place(None, None, {}, [here]).is_here
    assert place(None, None, {}, [tmp_path / "plain"]).is_here
    assert not place(None, None, {}, [tmp_path]).is_here


def test_the_header_of_a_run_names_the_place_of_the_sandbox_and_its_source(tmp_path):
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    one, other = "http://127.0.0.1:1", "http://127.0.0.1:2"
    command = ["-o", "sandbox_command=uvx uat-sandbox"]
    by_command = "uvx uat-sandbox serve (from sandbox_command in the configuration of pytest)"
    for arguments, env, line in [
        ([f"--sandbox-url={one}"], {"SANDBOX_URL": other}, f"{one} (from --sandbox-url)"),
        (command, {}, by_command),
    ]:
        run = run_pytest(tmp_path, *arguments, "test_it.py", **env)

        assert f"sandbox: {line}" in run.output.splitlines()


def test_relative_paths_of_a_configured_command_begin_at_the_configuration(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\nsandbox_command = sh ./sandbox.sh\n")
    (tmp_path / "sandbox.sh").write_text(f'exec {sys.executable} -m sandbox "$@"\n')
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text("def test_it(sandbox): sandbox.key()\n")

    assert run_pytest(tmp_path / "tests", "test_it.py").result("test_it") == "PASSED"


def test_an_error_names_the_source_of_the_url_and_appears_once(tmp_path):
    (tmp_path / "test_it.py").write_text("def test_it(sandbox): pass\n")

    run = run_pytest(tmp_path, "test_it.py", SANDBOX_URL="http://127.0.0.1:1")

    assert run.code == 1
    assert "sandbox: no sandbox answers at http://127.0.0.1:1/_sandbox" in run.output
    assert "/_sandbox (from SANDBOX_URL in the environment): " in run.output
    for word in ("Traceback", "During handling", "direct cause"):
        assert word not in run.output


def test_settings_that_a_command_cannot_follow_are_refused(tmp_path):
    (tmp_path / "conftest.py").write_text(SETTINGS)
    (tmp_path / "test_it.py").write_text("def test_it(sandbox): pass\n")

    run = run_pytest(tmp_path, "--sandbox-command=uvx uat-sandbox", "test_it.py")

    assert run.code == 1
    assert "sandbox: the fixture sandbox_settings is for a sandbox in this process" in run.output
