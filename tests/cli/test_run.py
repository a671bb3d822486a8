"""`sandbox run`: a command with a server around it."""

import json
import signal
import sys

import pytest

from tests.driving import serving
from tests.processes import Process, run

SALE = """
import json, os, sys, urllib.request
def post(path, key, **body):
    request = urllib.request.Request(
        os.environ["SANDBOX_URL"] + path,
        json.dumps(body).encode(),
        {"content-type": "application/json", "x-service-apikey": key},
    )
    return json.load(urllib.request.urlopen(request))
sale = {"amount": 1000, "terminal_id": os.environ["SANDBOX_TERMINAL"]}
print(post("/v3/payment", os.environ["SANDBOX_KEY"], **sale)["status"])
if "other" in sys.argv:
    world = post("/_sandbox/worlds", "", id="ours")
    post("/_sandbox/worlds", "", id="untouched")
    sale["terminal_id"] = world["terminals"]["merchant"]
    print(post("/v3/payment", world["keys"]["merchant"]["key"], **sale)["status"])
    sys.exit(7)
"""


def python(script, *arguments, options=(), **env):
    """What `sandbox run` does with a program in Python."""
    return run("run", *options, "--", sys.executable, "-c", script, *arguments, **env)


def test_a_command_takes_a_payment_with_what_it_finds_in_its_environment(tmp_path):
    done = python(SALE, options=("--keep", str(tmp_path / "kept")))

    assert (done.returncode, done.stdout, done.stderr) == (0, b"captured\n", b"")
    assert not (tmp_path / "kept").exists(), "nothing is kept of a command that succeeds"


def test_the_worlds_that_a_failed_command_used_are_kept_with_their_journals(tmp_path):
    folder = tmp_path / "deep" / "kept"
    done = python(SALE, "other", options=("--keep", str(folder)))

    assert (done.returncode, done.stdout) == (7, b"captured\ncaptured\n")
    kept = {path.name for path in folder.iterdir()}
    assert kept == {
        "report.html",
        *(f"{world}.{kind}.json" for world in ("default", "ours") for kind in ("world", "journal")),
    }
    said = done.stderr.decode()
    assert "the command ended with 7" in said
    assert str(folder) in said
    assert "2 worlds" in said
    (request,) = json.loads((folder / "default.journal.json").read_text())["requests"]
    assert (request["route"], request["status"]) == ("payments.create", 200)
    again = run("run", "--fixture", str(folder / "default.world.json"), "--", "true")
    assert (again.returncode, again.stderr) == (0, b"")


DELETED = SALE.replace(
    'if "other" in sys.argv:',
    """
for number in range(2):
    world = post("/_sandbox/worlds", "", id="its-own")
    key = world["keys"]["merchant"]["key"]
    try:
        post("/v3/paymnt", key, amount=1000 + number)
    except urllib.error.HTTPError as error:
        print(error.code)
    whole = os.environ["SANDBOX_URL"] + "/_sandbox/worlds/its-own"
    urllib.request.urlopen(urllib.request.Request(whole, method="DELETE"))
sys.exit(3)
if "other" in sys.argv:""",
).replace("import json", "import urllib.error, json")


@pytest.mark.parametrize("token", [None, "a-token-of-the-surroundings"])
def test_worlds_that_a_failed_command_deleted_are_kept_and_open_elsewhere(tmp_path, token):
    folder = tmp_path / "kept"
    script = DELETED
    if token:
        script = script.replace(
            "def post(",
            f"""
opener = urllib.request.build_opener()
opener.addheaders = [("authorization", "Bearer {token}")]
urllib.request.install_opener(opener)
def post(""",
            1,
        )
    done = python(
        script, options=("--keep", str(folder)), **({"SANDBOX_TOKEN": token} if token else {})
    )

    assert (done.returncode, done.stdout) == (3, b"captured\n404\n404\n"), done.stderr
    names = {path.name for path in folder.iterdir()}
    kept = ("default", "its-own", "its-own-2")
    assert names == {
        "report.html",
        *(f"{world}.{kind}.json" for world in kept for kind in ("world", "journal")),
    }
    journals = [json.loads((folder / f"{one}.journal.json").read_text()) for one in kept]
    paths = [[entry["path"] for entry in journal["requests"]] for journal in journals]
    assert paths == [["/v3/payment"], ["/v3/paymnt"], ["/v3/paymnt"]]
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count('data-world="its-own"') == 2
    assert "svc_uat_" not in page
    said = done.stderr.decode()
    assert said.count("its-own  404 POST /v3/paymnt: ") == 2
    assert "did you mean '/v3/payment'" in said
    with serving("--fixture", str(folder / "its-own.world.json")) as server:
        bearer = {"authorization": f"Bearer {server.facts['token']}"}
        world = server.control("GET", "/worlds/default", headers=bearer).json()
    assert "merchant" in world["keys"]


def test_a_token_of_the_surroundings_becomes_that_of_the_server(tmp_path):
    file = tmp_path / "token"
    file.write_text("a-token-of-the-surroundings")
    script = "import os; print(os.environ['SANDBOX_TOKEN'], 'SANDBOX_TOKEN_FILE' in os.environ)"
    done = python(script, SANDBOX_TOKEN_FILE=str(file))

    assert done.stdout == b"a-token-of-the-surroundings False\n"


def test_a_folder_that_cannot_be_written_is_named_and_the_exit_status_stays(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = python("raise SystemExit(4)", options=("--keep", str(blocked / "kept")))

    assert done.returncode == 4
    assert b"cannot be kept there" in done.stderr


def test_a_signal_reaches_the_command_and_its_answer_is_the_exit_status(tmp_path):
    script = (
        "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(9));"
        "print('ready', flush=True); time.sleep(30)"
    )
    options = ("--keep", str(tmp_path / "kept"))
    process = Process(["run", *options, "--", sys.executable, "-c", script])
    try:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 9
    finally:
        process.close()


def test_a_command_that_a_signal_ended_has_the_exit_status_of_a_shell(tmp_path):
    script = f"import os; os.kill(os.getpid(), {signal.SIGKILL:d})"
    done = python(script, options=("--keep", str(tmp_path / "kept")))

    assert done.returncode == 128 + signal.SIGKILL


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["no-such-command"], 127, "no-such-command: there is no such command"),
        (["{folder}/a file"], 126, "cannot be executed"),
        ([], 2, "Missing argument 'COMMAND"),
        (["--sed", "7", "--", "true"], 2, "--seed"),
        (["--scenario", "late_anser", "--", "true"], 2, "late_answer"),
        (["--fixture", "dem", "--", "true"], 2, "demo"),
    ],
)
def test_what_cannot_run_is_refused_as_shells_do(arguments, code, words, tmp_path):
    (tmp_path / "a file").write_text("no program")
    done = run("run", *(one.format(folder=tmp_path) for one in arguments))

    assert (done.returncode, done.stdout) == (code, b"")
    assert words in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()
    assert [path.name for path in tmp_path.iterdir()] == ["a file"]
