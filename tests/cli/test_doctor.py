"""`sandbox doctor`: what it is given, what it shows, how it ends."""

import json
import os

from click.testing import Result

from sandbox.doctor.probes import PROBES
from tests.cli.asking import ask, assert_refused, at_terminal, read_until
from tests.doctor import receivers as of
from tests.doctor.receivers import SECRET
from tests.webhooks.receiving import Answer, Received, receiving

NOBODY = "http://127.0.0.1:9/hook"
OTHER_SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"


def doctor(*arguments: str, secret: str | None = SECRET) -> Result:
    env = {} if secret is None else {"SANDBOX_WEBHOOK_SECRET": secret}
    return ask("doctor", *arguments, **env)


# --- what it shows ----------------------------------------------------------------------------


def test_a_healthy_receiver_has_a_line_for_each_probe_and_nothing_to_change():
    with receiving(of.good) as one:
        # The machine may be busy.
        done = doctor(str(one.port), "--slow-after-ms", "20000")

    head, *rest, last = done.stdout.splitlines()
    url = f"http://127.0.0.1:{one.port}/"
    assert (done.exit_code, done.stderr) == (0, "")
    assert head == f"{url}: {len(PROBES)} probes, {len(one.requests)} requests"
    assert last == "grade A, 100 of 100"
    assert [line.split()[:2] for line in rest if line] == [["ok", name] for name in PROBES]


def test_a_failure_is_shown_with_the_answer_the_remedy_and_the_rule():
    def strict(one: Received) -> Answer | None:
        said = f"\x1b[31munexpected field\nkey {SECRET} or {OTHER_SECRET}"
        return Answer(500, body=said.encode()) if "added_later" in one.json() else None

    with receiving(of.after(strict)) as one:
        done = doctor(one.url, "--only", "unknown-field", "--only", "nulls")

    assert done.exit_code == 1
    assert done.stdout.startswith(f"{one.url}: 3 probes, 3 requests\n")
    assert done.stdout.endswith("\n1 failed; a grade needs all probes\n")
    assert "  must      unknown-field  answered 500" in done.stdout
    assert "it said: [31munexpected field key whsec_*** or whsec_***" in done.stdout
    assert "Ignore fields that you do not know" in done.stdout
    assert "rule: good practice" in done.stdout
    assert "\x1b" not in done.stdout


def test_json_has_the_same_for_programs_and_advice_for_two_probes_is_given_once():
    with receiving(of.once()) as one:
        done = doctor(one.url, "--only", "duplicate", "--json")
    with receiving(of.once()) as again:
        text = doctor(again.url, "--only", "duplicate", "--only", "new-attempt").stdout

    report = json.loads(done.stdout)
    good, duplicate = report.pop("probes")
    assert done.exit_code == 1
    empty = dict.fromkeys(("grade", "score", "diagnosis"))
    assert report == {"url": one.url, "ok": False, "requests": 3} | empty
    assert (good["name"], good["verdict"], good["told"]) == ("good", "passed", "204")
    assert duplicate.pop("duration_ms") > 0
    assert "webhook-id" in duplicate.pop("advice")
    told = {"verdict": "failed", "way": "refused", "told": "again: answered 409", "said": None}
    probe = PROBES["duplicate"]
    assert duplicate == told | {
        "name": probe.name,
        "severity": probe.severity,
        "status_code": 409,
        "costs": probe.weight,
        "source": probe.source,
    }
    assert text.count("without processing it again") == text.count("As for duplicate.") == 1


def test_the_list_names_every_probe_and_sends_nothing():
    done, as_json = doctor("--list"), json.loads(doctor("--list", "--json").stdout)

    first = [line.split()[0] for line in done.stdout.splitlines() if line]
    assert first[: len(PROBES)] == [row["name"] for row in as_json] == list(PROBES)
    assert "A from 95, B from 85, C from 70, D from 40, F from 0" in done.stdout


# --- what it is given -------------------------------------------------------------------------


def test_the_secret_is_read_from_an_option_the_environment_or_a_file(tmp_path):
    file = tmp_path / "secret.txt"
    file.write_text(f"{SECRET}\n")

    with receiving(of.good) as one:
        only = (one.url, "--only", "good")
        done = [
            doctor(*only, "--secret", SECRET, secret=None),
            doctor(*only),
            doctor(*only, "--secret-file", str(file), secret="x"),
        ]

    assert [one.exit_code for one in done] == [0, 0, 0]


def test_a_wrong_secret_is_reported_and_no_secret_is_shown():
    def tells(one: Received) -> Answer:
        return Answer(401, body=f"expected {SECRET}, not {OTHER_SECRET[6:]}".encode())

    with receiving(tells) as one:
        done = doctor(one.url, "--secret", OTHER_SECRET)

    assert done.exit_code == 1
    assert "refuses a genuine webhook" in done.stdout
    assert "grade F, 0 of 100" in done.stdout
    assert "Compare the secret with the receiver's" in done.stdout
    assert SECRET not in done.output
    assert OTHER_SECRET[6:] not in done.output


def test_headers_can_have_another_prefix():
    for prefix in ("svix", "webhook"):
        with receiving(of.with_svix) as one:
            done = doctor(one.url, "--header-prefix", prefix, "--only", "rotation")

        names = {name for name in one.requests[0].headers if name.endswith("-signature")}
        assert (done.exit_code, names) == (0, {f"{prefix}-signature"})
    with receiving(of.good) as one:
        done = doctor(one.url, "--header-prefix", "acme")
    assert done.exit_code == 1
    assert "--header-prefix" in done.stdout


REFUSED = (
    ([], ["Missing argument 'URL'"]),
    (["ftp://a/b"], ["must begin with http:// or https://"]),
    (["http://127.0.0.1:99999/"], ["is not a URL"]),
    (["http://me:secret@host/"], ["must not hold a user name or password"]),
    ([NOBODY, "--only", "duplicat"], ["'duplicat'", "did you mean 'duplicate'?", "--list"]),
    ([NOBODY, "--events", "batch.*,transaction.sail"], ["did you mean 'transaction.sale'?"]),
    (["hook"], ["'hook': write it like 9000"]),
    ([NOBODY, "--header-prefix", "a b"], ["--header-prefix"]),
    ([NOBODY, "--secret", "hush"], ["--secret: must be whsec_"]),
    ([NOBODY, "--secret", "svc_live_abcdef"], ["--secret: must be whsec_"]),
    ([NOBODY, "--secret-file", "nowhere.txt"], ["nowhere.txt: cannot be read: No such file"]),
    ([NOBODY, "--secret", SECRET, "--secret-file", "x"], ["give one of them"]),
    ([NOBODY], ["there is no secret", "SANDBOX_WEBHOOK_SECRET"]),
    ([NOBODY, "--secret", SECRET], ["hook cannot be connected to", "start the receiver"]),
    ([NOBODY, "--timeout-s", "0"], ["--timeout-s"]),
    ([NOBODY, "--slow-after-ms", "-1"], ["--slow-after-ms"]),
    (["http://nowhere.invalid/hook", "--secret", SECRET], ["invalid/hook cannot be connected"]),
    (["http://256.1.1.1/hook", "--secret", SECRET], ["1.1/hook cannot be connected to"]),
)


def test_unusable_input_is_refused_in_a_sentence():
    for arguments, words in REFUSED:
        done = doctor(*arguments, secret=None)

        assert_refused(done, 2, *words)
        assert "hush" not in done.stderr
        assert "svc_live_abcdef" not in done.stderr


def test_at_a_terminal_a_secret_is_generated_for_the_receiver():
    configured: list[str] = []
    with (
        receiving(lambda one: 204 if one.is_signed_by(configured[0]) else 401) as one,
        at_terminal("doctor", one.url, "--only", "bad-signature") as (process, person),
    ):
        shown = read_until(person, "press Enter")
        configured.append(shown.split("A secret for this examination: ")[1].split()[0])
        os.write(person, b"\n")
        code, out = process.wait(20), process.stdout.read()

    assert code == 0, out
    assert "bad-signature  401" in out
    assert configured[0].startswith("whsec_")
    assert configured[0] not in out
