"""`sandbox doctor`: what it is given, what it shows, how it ends."""

import json
import os
import pty
from functools import partial

import pytest
from click.testing import CliRunner, Result

from sandbox.cli.main import main
from sandbox.doctor.probes import PROBES
from tests import processes
from tests.cli.asking import attach
from tests.doctor import receivers as of
from tests.doctor.receivers import SECRET
from tests.webhooks.misbehaving import refusing
from tests.webhooks.receiving import Answer, Received, receiving

NOBODY = "http://127.0.0.1:9/hook"
OTHER_SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"


def doctor(*arguments: str, **env: str | None) -> Result:
    env = {"SANDBOX_WEBHOOK_SECRET": None, **env}
    return CliRunner().invoke(main, ["doctor", *arguments], prog_name="sandbox", env=env)


def assert_unusable(done: Result, *words: str) -> None:
    assert (done.exit_code, done.stdout) == (2, ""), done.stderr
    assert isinstance(done.exception, SystemExit)
    assert [word for word in words if word not in done.stderr] == []


# --- what it shows ----------------------------------------------------------------------------


def test_a_healthy_receiver_has_one_line_for_every_probe_and_nothing_to_change():
    with receiving(of.good) as one:
        done = doctor(one.url, "--secret", SECRET)

    head, *rest, last = done.stdout.splitlines()
    assert (done.exit_code, done.stderr) == (0, "")
    assert head == f"{one.url}: {len(PROBES)} probes, {len(one.requests)} requests"
    assert last == "grade A, 100 of 100"
    assert [line.split()[:2] for line in rest if line] == [["ok", name] for name in PROBES]


def test_a_failure_is_shown_with_what_came_back_what_to_change_and_the_rule():
    def strict(one: Received) -> Answer | None:
        said = f"\x1b[31munexpected field\nkey {SECRET} or {OTHER_SECRET}"
        return Answer(500, body=said.encode()) if "added_later" in one.json() else None

    with receiving(of.after(strict)) as one:
        done = doctor(one.url, "--secret", SECRET, "--only", "unknown-field", "--only", "nulls")

    assert done.exit_code == 1
    assert done.stdout.startswith(f"{one.url}: 3 probes, 3 requests\n")
    assert done.stdout.endswith("\n1 failed; a grade takes all probes\n")
    assert "  must      unknown-field  answered 500" in done.stdout
    assert "it said: [31munexpected field key whsec_*** or whsec_***" in done.stdout
    assert "Ignore fields that you do not know" in done.stdout
    assert "rule: good practice" in done.stdout
    assert "\x1b" not in done.stdout


def test_advice_that_goes_for_two_probes_is_given_once():
    with receiving(of.once()) as one:
        done = doctor(one.url, "--secret", SECRET, "--only", "duplicate", "--only", "new-attempt")

    assert done.stdout.count("without processing it again") == 1
    assert "As for duplicate." in done.stdout


def test_json_has_the_same_for_programs():
    with receiving(of.once()) as one:
        done = doctor(one.url, "--secret", SECRET, "--only", "duplicate", "--json")

    report = json.loads(done.stdout)
    good, duplicate = report.pop("probes")
    assert done.exit_code == 1
    assert report == {
        "url": one.url,
        "ok": False,
        "grade": None,
        "score": None,
        "requests": 3,
        "diagnosis": None,
    }
    assert (good["name"], good["verdict"], good["told"]) == ("good", "passed", "204")
    assert duplicate.pop("duration_ms") > 0
    assert "webhook-id" in duplicate.pop("advice")
    assert duplicate == {
        "name": "duplicate",
        "verdict": "failed",
        "severity": "must",
        "way": "refused",
        "status_code": 409,
        "told": "again: answered 409",
        "said": None,
        "costs": 4.0,
        "source": "spec 6.1.9; assumed 8.3-id",
    }


def test_the_list_names_every_probe_and_sends_nothing():
    done, as_json = doctor("--list"), doctor("--list", "--json")

    first = [line.split()[0] for line in done.stdout.splitlines() if line]
    assert (done.exit_code, as_json.exit_code) == (0, 0)
    assert first[: len(PROBES)] == list(PROBES)
    assert "A from 95, B from 85, C from 70, D from 40, F from 0" in done.stdout
    assert [row["name"] for row in json.loads(as_json.stdout)] == list(PROBES)
    assert json.loads(as_json.stdout)[1] == {
        "name": "bad-signature",
        "sends": "a webhook signed with another secret",
        "wants": "refuses it with 4xx",
        "severity": "critical",
        "weight": 7,
        "source": "assumed 8.3-signature; Standard Webhooks, verifying",
    }


# --- what it is given -------------------------------------------------------------------------


def test_the_secret_is_read_from_an_option_the_environment_or_a_file(tmp_path):
    file = tmp_path / "secret.txt"
    file.write_text(f"{SECRET}\n")

    with receiving(of.good) as one:
        only = (one.url, "--only", "good")
        codes = [
            doctor(*only, "--secret", SECRET).exit_code,
            doctor(*only, SANDBOX_WEBHOOK_SECRET=SECRET).exit_code,
            doctor(*only, "--secret-file", str(file)).exit_code,
            doctor(*only, "--secret-file", str(file), SANDBOX_WEBHOOK_SECRET="x").exit_code,
        ]

    assert codes == [0, 0, 0, 0]


def test_a_port_of_this_machine_is_enough():
    with receiving(of.good) as one:
        done = doctor(f"{one.port}", "--secret", SECRET, "--only", "good")

    assert done.exit_code == 0
    assert done.stdout.startswith(f"http://127.0.0.1:{one.port}/: 1 probe, 1 request\n")


def test_a_wrong_secret_is_told_and_neither_is_shown():
    def tells(one: Received) -> Answer:
        return Answer(401, body=f"expected {SECRET}".encode())

    with receiving(tells) as one:
        done = doctor(one.url, "--secret", OTHER_SECRET)

    assert done.exit_code == 1
    assert "refuses a genuine webhook" in done.stdout
    assert "grade F, 0 of 100" in done.stdout
    assert "Compare the secret with the receiver's" in done.stdout
    assert SECRET not in done.output
    assert OTHER_SECRET not in done.output


@pytest.mark.parametrize("prefix", ["svix", "webhook"])
def test_headers_can_have_another_prefix(prefix):
    with receiving(of.with_svix) as one:
        done = doctor(one.url, "--secret", SECRET, "--header-prefix", prefix, "--only", "rotation")

    names = {name for name in one.requests[0].headers if name.endswith("-signature")}
    assert done.exit_code == 0
    assert names == {f"{prefix}-signature"}


def test_a_receiver_of_other_headers_refuses_the_usual_ones():
    with receiving(of.good) as one:
        done = doctor(one.url, "--secret", SECRET, "--header-prefix", "acme")

    assert done.exit_code == 1
    assert "--header-prefix" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["Missing argument 'URL'"]),
        (["ftp://a/b"], ["must begin with http:// or https://"]),
        (["http://127.0.0.1:99999/"], ["is not a URL"]),
        (["http://me:secret@host/"], ["must not hold a user name or password"]),
        ([NOBODY, "--only", "duplicat"], ["'duplicat'", "did you mean 'duplicate'?", "--list"]),
        ([NOBODY, "--events", "transaction.sail"], ["did you mean 'transaction.sale'?"]),
        ([NOBODY, "--events", "batch.*,transaction.sail"], ["no event 'transaction.sail'"]),
        (["hook"], ["'hook': write it like 9000"]),
        ([NOBODY, "--header-prefix", "a b"], ["--header-prefix"]),
        ([NOBODY, "--secret", "hush"], ["--secret: must be whsec_"]),
        ([NOBODY, "--secret", "svc_live_abcdef"], ["--secret: must be whsec_"]),
        ([NOBODY, "--secret-file", "nowhere.txt"], ["nowhere.txt: cannot be read: No such file"]),
        ([NOBODY, "--secret", SECRET, "--secret-file", "x"], ["give one of them"]),
        ([NOBODY], ["there is no secret", "SANDBOX_WEBHOOK_SECRET"]),
        ([NOBODY, "--timeout-s", "0"], ["--timeout-s"]),
        ([NOBODY, "--slow-after-ms", "-1"], ["--slow-after-ms"]),
    ],
    ids=lambda value: " ".join(value)[:50],
)
def test_what_cannot_be_used_is_refused_in_words(arguments, words):
    done = doctor(*arguments)

    assert_unusable(done, *words)
    assert "hush" not in done.stderr
    assert "svc_live_abcdef" not in done.stderr


def test_without_a_listener_there_is_nothing_to_grade():
    with refusing() as url:
        done = doctor(url, "--secret", SECRET)

    assert_unusable(done, url, "cannot be connected to", "start the receiver")


@pytest.mark.parametrize("host", ["nowhere.invalid", "256.1.1.1"])
def test_a_host_that_does_not_exist_is_named(host):
    done = doctor(f"http://{host}/hook", "--secret", SECRET)

    assert_unusable(done, f"http://{host}/hook", "cannot be connected to")


# --- at a terminal ----------------------------------------------------------------------------


def test_at_a_terminal_a_secret_is_made_for_the_receiver_to_be_configured_with():
    ours, theirs = pty.openpty()
    configured: list[str] = []

    with receiving(lambda one: 204 if one.is_signed_by(configured[0]) else 401) as one:
        process = processes.Process(
            ["doctor", one.url, "--only", "bad-signature"],
            before=partial(attach, os.ttyname(theirs)),
        )
        shown = b""
        while b"press Enter" not in shown:
            shown += os.read(ours, 1_000)
        configured.append(shown.decode().split("A secret for this examination: ")[1].split()[0])
        os.write(ours, b"\n")
        code, out = process.wait(20), process.stdout.read()
        process.close()
    os.close(theirs)
    os.close(ours)

    assert code == 0, out
    assert "bad-signature  401" in out
    assert configured[0].startswith("whsec_")
    assert configured[0] not in out
