"""`sandbox verify`: it names the reading that a platform has, and no other, and does no harm."""

import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from sandbox.conformance.clients import Platform
from sandbox.conformance.probe_runner import (
    HttpAnswer,
    Pace,
    Register,
    Run,
    Sends,
    Stopped,
)
from sandbox.conformance.probe_table import (
    PHASES,
    Probe,
    Step,
    is_met,
    parse_condition,
    probes_of,
)
from sandbox.conformance.probe_table import ProbeRequest as Asked
from sandbox.conformance.verification import Wanted, profile_toml, write
from sandbox.conformance.verification import ask as ask_platform
from sandbox.domain.profile import Profile, parse_profile
from sandbox.domain.readings import READINGS
from sandbox.settings import read_profile
from tests.cli.asking import ask, assert_refused
from tests.conformance.uat import RUN, Time, Uat, turned
from tests.driving import Served

PROBES = probes_of("looking")
ROOT = Path(__file__).parents[2]
UAT = "https://uat.example.com"


ALL = {probe.id: (phase, probe) for phase in PHASES for probe in probes_of(phase)}
USUAL = {id: probe.of_sandbox(Profile()) for id, (_, probe) in ALL.items()}


def told(folder: Path, phase: str, probe: Probe, value: object) -> dict[str, object]:
    """What a run finds on a sandbox with this reading turned, by the id of the probe."""
    allowed = [] if phase == "looking" else [phase]
    uat = Uat(turned(probe, value))
    tx = {"auth": uat.paid_id(operation="auth"), "captured": uat.paid_id()}
    tx["timed_out"] = uat.paid_id(card="tok_timeout")

    result, _ = uat.verify(folder, *allowed, tx=tx)

    assert result["stopped"] is None
    assert uat.left() == []
    return {one["id"]: one["uat"] for one in result["probes"]}


@pytest.mark.parametrize("phase", PHASES)
def test_a_default_sandbox_is_recognized_by_its_default_readings(phase, tmp_path):
    probe = probes_of(phase)[0]

    found = told(tmp_path, phase, probe, USUAL[probe.id])

    asked = {one.id for one in (*probes_of("looking"), *probes_of(phase))}
    assert found == {id: value for id, value in USUAL.items() if id in asked}


@pytest.mark.parametrize(
    ("id", "value"),
    [
        (id, one.value)
        for id, (_, probe) in ALL.items()
        for one in probe.values
        if one.value != USUAL[id]
    ],
)
def test_a_sandbox_with_one_changed_reading_is_found_by_that_reading_only(id, value, tmp_path):
    found = told(tmp_path, *ALL[id], value)

    assert found.pop(id) == value
    # A probe that needs the usual answer to something else may not be able to tell.
    others = {id: one for id, one in found.items() if one is not None}
    assert others == {id: USUAL[id] for id in others}


def test_a_tip_that_exceeds_the_hold_does_not_tell_whether_a_hold_has_a_tip(tmp_path):
    readings = {"tip_on_a_hold": "allowed", "above_the_hold": "nothing"}
    uat = Uat(parse_profile({"readings": readings}))

    result, _ = uat.verify(tmp_path, "payments", tx={"auth": uat.paid_id(operation="auth")})

    found = {one["id"]: one["uat"] for one in result["probes"]}
    assert found["tip_on_a_hold"] is None


def test_the_rows_of_probes_have_ids_of_their_own_and_cite_known_clauses():
    entries = tomllib.loads((ROOT / "spec/clauses.toml").read_text(encoding="utf-8"))
    rows = [probe for phase in PHASES for probe in probes_of(phase)]

    assert len({probe.id for probe in rows}) == len(rows)
    cited = [clause.split(" ", 1) for probe in rows for clause in probe.clauses]
    assert [(kind, id) for kind, id in cited if id not in entries[kind]] == []


# --- a real socket -----------------------------------------------------------------------------


def test_a_run_leaves_a_profile_that_serves_and_no_secret(served: Served, tmp_path):
    answer = served.control("POST", "/worlds", json={"switches": {"strict_headers": True}})
    key = answer.json()["keys"]["merchant_read_only"]["key"]
    folder = tmp_path / "results" / "today"

    wanted = Wanted(run=RUN)
    with Platform(served.url, key, Profile()) as platform:
        pace = Time().pace()
        result, files = ask_platform(platform, Profile(), wanted, pace, folder, {"own": key})

    write(folder, files)
    write(folder, files)
    assert {file.name: file.read_text() for file in folder.iterdir()} == files
    profile = read_profile(folder / "uat.toml")
    assert profile.readings == {
        "limit_above_maximum": "refused",
        "missing_headers": "refused",
        "unknown_routes": "path",
        "validation_detail": "text",
        "validation_status": "bad_request",
    }
    assert set(profile.verified) >= {"limit_above_maximum", "assumed D35-limit", "spec 7-body"}
    assert replace(profile, readings={}, verified={}) == Profile()
    switches = json.loads(files["uat-switches.json"])
    assert switches == {"strict_headers": True}
    world = answer.json()["id"]
    assert served.control("PUT", f"/worlds/{world}/switches", json=switches).status_code == 200
    verdicts = {one["id"]: one["verdict"] for one in result["probes"]}
    # There is no payment yet, which the search would have to find, and no account is named.
    assert {id: verdict for id, verdict in verdicts.items() if verdict != "same"} == {
        "missing_headers": "other reading",
        **dict.fromkeys(("date_filters.start", "date_filters.end"), "cannot tell"),
        "foreign_account_filter": "cannot tell",
    }
    row = "| missing_headers | spec 5-accept, assumed D35-headers | served | refused | other"
    assert row in files["differences.md"]
    assert len(files["evidence.jsonl"].splitlines()) == result["requests"] == 20
    everything = "".join(files.values())
    assert key not in everything
    assert "Barton Springs" not in everything


# --- a platform in trouble ---------------------------------------------------------------------


def run(probes: Sequence[Probe], send: Sends, pace: Pace) -> Run:
    """A run of probes that only read."""
    made = Run(send, pace, Register(RUN, Path("/nowhere")))
    try:
        made.ask(probes)
    except Stopped as stopped:
        made.stopped = str(stopped)
    return made


PAST, FUTURE = "Thu, 01 Jan 2026 00:00:00 GMT", "Thu, 01 Jan 2126 00:00:00 GMT"


@pytest.mark.parametrize(
    ("answer", "sent", "why"),
    [
        (HttpAnswer(429, {"retry-after": "7"}, ""), 2, "answered 429 2 times"),
        (HttpAnswer(429, {"retry-after": "3600"}, ""), 1, "asks to wait, with Retry-After: 3600"),
        (HttpAnswer(429, {"retry-after": "nan"}, ""), 1, "asks to wait, with Retry-After: nan"),
        (HttpAnswer(429, {"retry-after": PAST}, ""), 2, "answered 429 2 times"),
        (HttpAnswer(429, {"retry-after": FUTURE}, ""), 1, f"Retry-After: {FUTURE}"),
        (HttpAnswer(500, {}, '{"detail": "oops"}'), 3, "3 times, the last time with status 500"),
        (HttpAnswer(500, {}, "<html>"), 3, "failed 3 times, the last time with status 500"),
        (HttpAnswer(0, {}, "no answer: late"), 3, "3 times, the last time with no answer: late"),
        (HttpAnswer(401, {}, "{}"), 3, "does not accept the key"),
        (HttpAnswer(404, {}, "{}"), 3, "no platform answers at this address"),
        (HttpAnswer(302, {"location": "/login"}, ""), 3, "no platform answers at this address"),
        (HttpAnswer(200, {}, "<html>"), 3, "no platform answers at this address"),
    ],
)
def test_a_failing_platform_is_left_alone(answer, sent, why):
    time = Time()

    done = run(PROBES, lambda request: answer, time.pace())

    assert why in (done.stopped or "")
    assert len(done.evidence) == sent
    assert len(time.waits) == sent - 1
    assert [finding.value for finding in done.findings if finding.value is not None] == []


def test_a_valid_key_with_few_permissions_does_not_end_the_run_and_pages_decide_nothing():
    def refuse(request: Asked) -> HttpAnswer:
        return HttpAnswer(403 if request.path == "/v2/transactions" else 200, {}, "{}")

    first = iter(["{}"])
    done = run(PROBES, refuse, Time().pace())
    pages = run(PROBES, lambda request: HttpAnswer(200, {}, next(first, "<html>")), Time().pace())

    assert done.stopped is pages.stopped is None
    assert len(done.findings) == len(PROBES)
    assert [one.value for one in pages.findings if one.value is not None] == []


def test_requests_are_half_a_second_apart_and_retry_after_is_respected():
    time, statuses = Time(), iter([429])

    def send(request: Asked) -> HttpAnswer:
        return HttpAnswer(next(statuses, 200), {"retry-after": "20"}, "{}")

    done = run(PROBES, send, time.pace())

    assert time.waits == [20.0] + [0.5] * (len(done.evidence) - 2)


def test_a_platform_that_cannot_be_connected_to_is_reported_with_the_reason():
    with Platform("http://127.0.0.1:1", "svc_uat_key", Profile()) as platform:
        answer = platform(Asked(path="/v2/terminals"))

    assert answer.status == 0
    assert re.fullmatch(r"no answer: no connection \(.* refused\)", answer.text)


# --- the command -------------------------------------------------------------------------------


def test_the_plan_lists_every_request_and_sends_none():
    shown = ask("verify", UAT, "--plan").stdout
    requests = json.loads(ask("verify", UAT, "--plan", "--json").stdout)["requests"]

    assert shown.startswith(f"22 requests to {UAT}, one at a time")
    assert shown.count("  GET /v2/") == 22
    assert [one["method"] for one in requests] == ["GET"] * 22


def test_an_unusable_key_or_address_is_refused_and_not_shown():
    named = "svc_uat_demomerchant_" + "x" * 32
    secret = "whsec_" + "x" * 32
    for key, option, words in (
        ("", "", "the variable UAT_KEY has no key"),
        ("svc_live_abc_def", "", "it is a production key"),
        ("svc_abcdef", "", "it does not begin with svc_uat_"),
        ("svc_uat_abc_def", f"--key-env {named}", "has no key"),
        ("svc_uat_abc_def", f"--deliveries . --secret-env {secret}", "has no secret"),
    ):
        done = ask("verify", UAT, *option.split(), UAT_KEY=key)

        assert_refused(done, 2, words)
        assert not key or key not in done.output
        assert "x" * 32 not in done.output
    for base, words in {
        "uat.example.com": "is not an address",
        "http://uat.example.com": "would send the key in the clear",
        "https://me:secret@uat.example.com": "has more than scheme, host, port and path",
    }.items():
        assert_refused(ask("verify", base, "--plan"), 2, words)


# --- probes and conditions ---------------------------------------------------------------------


def test_a_condition_that_does_more_than_compare_is_refused():
    for text, words in {
        "state == 200": "has no 'state'",
        "open('x') == 1": "may only compare values",
        "status + 1 == 2": "may only compare values",
        "not status == 200": "may only compare values",
        "0 < status < 9": "may only compare values",
    }.items():
        with pytest.raises(ValueError, match=f"^{words}"):
            parse_condition(text)


def test_a_condition_compares_what_was_answered():
    answer = {"status": 200, "headers": {"etag": "e"}}
    answer["body"] = {"total": 1, "items": [{"id": "a"}, {"id": "b"}]}
    for text, expected in {
        "status == 200 and body.total < 2": True,
        "body.items[0].id == 'a' and body['items'][1].id == 'b'": True,
        "body.items[7].id == None and body.no.such == None": True,
        "body.no > 1 or 'x' in body.no": False,
        "'total' in body and status not in [400, 422]": True,
        "headers.etag == 'e' and answers[0].status == 200": True,
    }.items():
        assert is_met(parse_condition(text), {**answer, "answers": [answer]}) is expected, text


def test_the_findings_are_in_the_profile_and_other_names_stay():
    own = parse_profile({"name": "ours", "api_key_header": "x-ours"})
    probe = next(one for one in PROBES if one.id == "date_filters.start")

    def send(request: Asked) -> HttpAnswer:
        total = 0 if "startDate" in dict(request.query) else 5
        return HttpAnswer(200, {}, json.dumps({"total": total}))

    text = profile_toml(run([probe], send, Time().pace()), own, "2026-11-23")

    assert 'name = "ours"' in text
    assert '[date_filters]\nstart = "startDate"\nend = "end_date"' in text


# --- what was learnt, in a sandbox ---------------------------------------------------------------


def test_a_sandbox_with_the_profile_of_a_run_has_its_readings_and_shows_the_day(tmp_path):
    uat = Uat(parse_profile({"readings": {"limit_above_maximum": "clamped"}}))
    _, files = uat.verify(tmp_path)
    write(tmp_path, files)
    learnt = read_profile(tmp_path / "uat.toml")

    day = learnt.verified["limit_above_maximum"]
    ledger = {one["id"]: one for one in Uat(learnt).look("/ledger")["clauses"]}

    assert learnt.readings["limit_above_maximum"] == "clamped"
    assert ledger["assumed D35-limit"]["verified"] == day
    assert ledger["assumed D35-tip"]["verified"] is None
    shown = ask("ledger", "assumed D35-limit", "--profile", str(tmp_path / "uat.toml")).stdout
    assert f"verified on the platform on {day}" in shown
    listed = ask("ledger", "D35", "--profile", str(tmp_path / "uat.toml"), "--json").stdout
    days = {one["id"]: one["verified"] for one in json.loads(listed)["clauses"]}
    assert days["assumed D35-limit"] == day
    assert days["assumed D35-tip"] is None


def test_the_plan_says_what_is_made_and_shows_each_body():
    account = "64e24377-b0e9-4882-9386-a4e53c72c012"
    shown = ask(
        *("verify", UAT, "--plan", "--account", account, "--allow", "keys,directory,payments"),
        *("--tx", "auth=a-1,a-2", "--tx", "captured=c-1"),
    ).stdout

    assert "They create: 10 keys, 1 merchant, 4 terminals, 4 locations.\n" in shown
    assert f'"account_id": "{account}"' in shown
    assert "  POST /v1/payments/a-1/reverse\n" in shown
    assert "  POST /v1/accounts  (partner's key)" in shown
    assert '"expires_at": "{in_an_hour}"' in shown
    assert f"GET /v5/apikeys?account_id={account}" in shown
    assert "POST /v1/payments/a-1/auth  (only if the request before is refused)" in shown


def test_options_that_do_not_fit_together_are_refused():
    key = "svc_uat_abcdefghijkl_" + "m" * 32
    paying = "--allow payments --account a"
    for options, words in {
        "--allow key": "'key' is not one of keys, directory, payments",
        "--allow keys": "needs --account",
        paying: "needs --tx",
        "--tx auth=a": "needs --allow payments",
        f"{paying} --tx hold=a": "must be one of auth",
        f"{paying} --tx auth=a/b": "is not an id",
        f"{paying} --tx auth=a,a": "named twice",
        "--allow directory --account a": "needs a partner's key",
        "--clean ../etc": "is not the name of a run",
        "--clean 0a1b2c3d --out /nowhere": "run '0a1b2c3d' is unknown",
    }.items():
        assert_refused(ask("verify", UAT, *options.split(), UAT_KEY=key), 2, words)


def test_a_host_of_production_is_refused(tmp_path):
    file = tmp_path / "own.toml"
    file.write_text('production_hosts = ["api.example.com"]')

    for host in (
        *("api.example.com", "eu.api.example.com", "API.example.com"),
        *("api.example.com.", "api\u3002example\uff0ecom"),
    ):
        done = ask("verify", f"https://{host}", "--profile", str(file), "--plan")
        assert_refused(done, 2, "is a production host")


def test_a_step_that_could_change_anything_outside_the_run_is_refused():
    making = {"method": "POST", "path": "/v5/apikeys", "makes": "key"}
    for step, words in (
        ({"method": "DELETE", "path": "/v1/accounts/7"}, "path: a request that changes something"),
        ({"method": "POST", "path": "/v3/payment"}, "path: a request that changes something"),
        (making | {"body": {"name": "mine"}}, "body: what a run makes is called {name}"),
        (making | {"body": {"name": "{name}"}}, "body: a key that a run makes has one of"),
        ({"method": "PATCH", "path": "/v1/accounts"}, "Input should be"),
    ):
        with pytest.raises(ValidationError, match=words):
            Step.model_validate(step)


def test_the_guide_names_the_readings_that_no_probe_asks_for():
    asked = {one.reading for phase in PHASES for one in probes_of(phase) if one.reading}
    guide = (ROOT / "docs/guides/verifying.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"No probe asks for these readings.*?\n\n(.*?)\n\n", guide, re.DOTALL)

    assert set(re.findall(r"`(\w+)`", table)) == set(READINGS) - asked
