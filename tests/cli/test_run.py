"""`sandbox run`: a command with a server around it."""

import json
import signal
import sys
from contextlib import closing
from pathlib import Path

from tests.cli.asking import ask, assert_refused
from tests.driving import fresh
from tests.processes import Process, run

SALE = """
import os, sys, httpx2
token = os.environ.get("SANDBOX_TOKEN")
assert "SANDBOX_TOKEN_FILE" not in os.environ
bearer = {"authorization": f"Bearer {token}"} if token else {}
client = httpx2.Client(base_url=os.environ["SANDBOX_URL"], headers=bearer, trust_env=False)
def send(path, key, **body):
    return client.post(path, headers={"x-service-apikey": key}, json=body)
def new(id):
    world = client.post("/_sandbox/worlds", json={"id": id}).json()
    return world["keys"]["merchant"]["key"], world["terminals"]["merchant"]
def sell(key, terminal):
    print(send("/v3/payment", key, amount=1000, terminal_id=terminal).json()["status"])
sell(os.environ["SANDBOX_KEY"], os.environ["SANDBOX_TERMINAL"])
"""
OTHERS = """
sell(*new("its-own-2"))
new("untouched")
for number in range(2):
    key, terminal = new("its-own")
    print(send("/v3/paymnt", key, amount=1000 + number).status_code)
    client.delete("/_sandbox/worlds/its-own")
assert client.delete("/_sandbox/worlds/default").status_code == 409
sys.exit(7)
"""


def python(script, *, keep, **env):
    """What `sandbox run` does with a program in Python."""
    return run("run", "--keep", str(keep), "--", sys.executable, "-c", script, **env)


def test_a_command_takes_a_payment_with_its_environment_alone(tmp_path):
    done = python(SALE, keep=tmp_path / "kept")

    assert (done.returncode, done.stdout, done.stderr) == (0, "captured\n", "")
    assert not (tmp_path / "kept").exists(), "nothing is kept of a command that succeeds"


def test_with_a_token_all_worlds_of_a_failed_command_are_kept_and_open_elsewhere(tmp_path):
    folder, token = tmp_path / "deep" / "kept", tmp_path / "token"
    token.write_text("a-token-of-the-surroundings")
    script = f"{SALE}print(token)\n{OTHERS}"
    done = python(script, keep=folder, SANDBOX_TOKEN_FILE=str(token))

    output = "captured\na-token-of-the-surroundings\ncaptured\n404\n404\n"
    assert (done.returncode, done.stdout) == (7, output), done.stderr
    kept = {
        "default": ["/v3/payment"],
        "its-own-2": ["/v3/payment"],
        "its-own": ["/v3/paymnt"],
        "its-own-3": ["/v3/paymnt"],
    }
    files = {f"{world}.{kind}.json" for world in kept for kind in ("world", "journal")}
    assert {path.name for path in folder.iterdir()} == {"report.html", *files}
    for world, paths in kept.items():
        assert (folder / f"{world}.world.json").stat().st_mode & 0o777 == 0o600
        journal = json.loads((folder / f"{world}.journal.json").read_text())["requests"]
        assert [entry["path"] for entry in journal] == paths
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count('data-world="its-own"') == 2
    assert "svc_uat_" not in page
    said = done.stderr
    assert f"the command ended with 7; {folder} has 4 worlds" in said
    assert said.count("its-own  404 POST /v3/paymnt: ") == 2
    assert "did you mean '/v3/payment'" in said
    elsewhere = fresh(fixture=str(folder / "its-own.world.json"))
    assert elsewhere.ask("GET", "/v5/apikeys", key="merchant").status == 200


def test_a_signal_reaches_the_command_and_its_answer_is_the_exit_status(tmp_path):
    script = (
        "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(9));"
        "print('ready', flush=True); time.sleep(30)"
    )
    keep = ("--keep", str(tmp_path / "kept"))
    with closing(Process(["run", *keep, "--", sys.executable, "-c", script])) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 9


def test_a_killed_command_ends_as_in_shells_and_a_folder_that_cannot_be_written_is_named(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = python("import os; os.kill(os.getpid(), 9)", keep=blocked / "kept")

    assert done.returncode == 128 + signal.SIGKILL
    assert "cannot be kept there" in done.stderr


def test_a_command_that_cannot_run_is_refused_as_in_shells(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a file").write_text("no program")
    for arguments, code, words in (
        (["no-such-command"], 127, "no-such-command: there is no such command"),
        (["./a file"], 126, "cannot be executed"),
        ([], 2, "Missing argument 'COMMAND"),
        (["--sed", "7", "--", "true"], 2, "--seed"),
        (["--scenario", "late_anser", "--", "true"], 2, "late_answer"),
        (["--fixture", "dem", "--", "true"], 2, "demo"),
    ):
        assert_refused(ask("run", *arguments), code, words)
    assert [path.name for path in tmp_path.iterdir()] == ["a file"]
