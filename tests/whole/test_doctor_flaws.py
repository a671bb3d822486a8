"""Each flaw of a receiver is found and named, and nothing else."""

import json
from dataclasses import replace
from typing import Any

from click.testing import CliRunner

from sandbox import library
from sandbox.cli.main import main
from tests.doctor import receivers as of
from tests.doctor.receivers import SECRET, after, forged, seeing
from tests.webhooks import misbehaving as bad
from tests.webhooks.receiving import Answer, Received, receiving

FORGED = {"bad-signature", "tampered-body", "empty-signature", "garbled-signature"}
UNSIGNED = {"missing-signature", "unsigned"}
UNTIMELY = {"stale-timestamp", "future-timestamp"}
REFUSABLE = FORGED | UNSIGNED | UNTIMELY


def examine(url: str, *options: str) -> tuple[int, dict[str, Any]]:
    """Exit status and report."""
    options = options or ("--events", "transaction.sale,transaction.refund")
    # The machine may be busy.
    patient = ["doctor", url, "--secret", SECRET, "--json", "--slow-after-ms", "20000"]
    done = CliRunner().invoke(main, [*patient, *options])
    return done.exit_code, json.loads(done.stdout)


def failed(report: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Severity and way of what failed."""
    return {
        one["name"]: (one["severity"], one["way"])
        for one in report["probes"]
        if one["verdict"] == "failed"
    }


def test_a_receiver_that_verifies_with_an_official_library_has_grade_a():
    for receiver, events in (
        (of.good, "*"),
        (of.with_svix, "*"),
        (of.good, "batch.*"),
        (of.good, "api_key.*"),
        (of.good, "location.deleted"),
    ):
        with receiving(receiver) as one:
            code, report = examine(one.url, "--events", events)

        assert (code, report["grade"], report["score"]) == (0, "A", 100), events
        assert failed(report) == {}, events
        assert report["requests"] == len(one.requests)
        if events != "*":
            bodies = [request.json() for request in one.requests if request.body]
            assert [body for body in bodies if "transaction_type" in body] == [], events


KNOWN_FIELDS = set(json.loads(library.sample("transaction.sale")))


def unsigned_too(one: Received) -> int | Answer:
    is_unsigned = one.method == "POST" and "webhook-signature" not in one.headers
    return 200 if is_unsigned else of.good(one)


FLAWS = {
    "takes whatever comes": (lambda one: 200, {*REFUSABLE, "get"}, "F"),
    "verifies what is signed": (unsigned_too, UNSIGNED, "F"),
    "looks for headers": (of.posts_alone(of.has_all_headers), FORGED | UNTIMELY, "F"),
    "ignores timestamps": (of.any_time, UNTIMELY, "D"),
    "ignores times ahead": (of.times_ahead, {"future-timestamp"}, "B"),
    "reads one signature": (
        seeing(of.first_signature_alone),
        {"rotation", "unknown-version"},
        "D",
    ),
    "writes the body again": (seeing(of.written_again), {"exact-bytes"}, "D"),
    "reads latin-1": (
        seeing(lambda one: replace(one, body=one.body.decode("latin-1").encode())),
        {"unicode"},
        "D",
    ),
    "refuses unknown fields": (
        after(lambda one: None if one.json().keys() <= KNOWN_FIELDS else 422),
        {"unknown-field", "unknown-event"},
        "D",
    ),
    "knows transactions alone": (
        after(lambda one: None if "transaction_id" in one.json() else 500),
        {"unknown-event"},
        "B",
    ),
    "fails on null": (
        after(lambda one: 500 if one.json().get("gateway_transaction_id", "") is None else None),
        {"nulls"},
        "D",
    ),
    "wants an order of fields": (
        after(lambda one: 400 if next(reversed(one.json())) == "transaction_id" else None),
        {"field-order"},
        "B",
    ),
    "limits bodies": (
        after(lambda one: 413 if len(one.body) > 20_000 else None),
        {"large-body"},
        "B",
    ),
    "refuses duplicates": (of.once(), {"duplicate", "new-attempt", "race"}, "D"),
    "wants the sale first": (of.in_order(), {"out-of-order"}, "D"),
    "breaks on forgeries": (forged(500), REFUSABLE, "B"),
    "serves GET": (lambda one: 200 if one.method == "GET" else of.good(one), {"get"}, "A"),
}


def test_a_flaw_is_found_and_everything_else_passes():
    for name, (receiver, expected, grade) in FLAWS.items():
        with receiving(receiver) as one:
            code, report = examine(one.url)

        assert set(failed(report)) == expected, name
        assert (report["grade"], report["ok"]) == (grade, grade in "ABC"), name
        assert code == (0 if grade in "ABC" else 1), name
        says_it = "does not verify signatures at all" in (report["diagnosis"] or "")
        assert says_it is (name == "takes whatever comes"), name
        if says_it:
            assert failed(report)["bad-signature"] == ("critical", "taken")


def unhandled(one: Received) -> int | Answer:
    return 500 if one.headers.get("webhook-signature") == "signed" else of.good(one)


def no_refunds(one: Received) -> int | None:
    return 400 if one.json().get("refunded") else None


ALONE = (
    (unhandled, ("garbled-signature",), 0, ("advice", "broke"), ("500",)),
    (of.one_at_a_time(0.2), ("concurrent",), 0, ("should", "broke"), ("answered 503",)),
    (
        after(lambda _: Answer(204, delay_s=0.05)),
        ("quick", "--slow-after-ms", "40"),
        0,
        ("should", "slow"),
        ("queue",),
    ),
    (
        after(no_refunds),
        ("every-event", "--events", "transaction.*"),
        1,
        ("must", "refused"),
        ("transaction.refund: answered 400", "--events"),
    ),
    (after(no_refunds), ("every-event", "--events", "transaction.sale"), 0, None, ()),
    (bad.forever, ("good",), 0, None, ()),
)


def test_a_flaw_that_one_probe_finds_is_reported_as_itself():
    for receiver, options, expected, found, words in ALONE:
        with receiving(receiver) as one:
            code, report = examine(one.url, "--only", *options)

        name, probe = options[0], report["probes"][-1]
        assert (code, failed(report)) == (expected, {name: found} if found else {}), options
        said = f"{probe['told']} {probe['advice']}"
        assert [one for one in words if one not in said] == [], options
        assert (probe["costs"] == 0) is (found in (None, ("advice", "broke"))), options


# --- receivers that take nothing --------------------------------------------------------------

NOTHING_TAKEN = (
    (Answer(302, {"location": "/login"}), "redirected", "answered 302 to /login"),
    (401, "refused", "answered 401"),
    (404, "refused", "answered 404"),
    (410, "gone", "answered 410"),
    (500, "broke", "answered 500"),
    (bad.hang, "silent", "no complete answer within 0.2 s"),
    (bad.drip, "silent", "no complete answer within 0.2 s"),
    (bad.hang_up, "closed", "closed the connection"),
    (bad.reset, "closed", "closed the connection"),
    (bad.break_off, "closed", "closed the connection"),
    (bad.garbage, "not_http", "in HTTP"),
)


def test_without_an_accepted_genuine_webhook_nothing_else_is_tried():
    for behaviour, way, words in NOTHING_TAKEN:
        # Only silence has to be waited for to its end.
        timeout_s = "0.2" if way == "silent" else "20"
        with receiving(behaviour) as one:
            code, report = examine(one.url, "--timeout-s", timeout_s)

        good, *others = report["probes"]
        assert (code, report["grade"], report["score"]) == (1, "F", 0), words
        assert failed(report) == {"good": ("critical", way)}
        assert words in good["told"]
        assert {probe["verdict"] for probe in others} == {"skipped"}, words
        # A missing path is told from a wrong secret.
        hint = good["advice"].startswith("404: there is nothing at this path")
        assert hint is (behaviour == 404), words
        assert len(one.requests) == 1, words
