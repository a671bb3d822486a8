"""The catalogue of refusals. Source: spec 7; codes assumed 0.5."""

import re
from functools import cache
from pathlib import Path

import pytest

from sandbox.domain import faults
from sandbox.domain.faults import FAULTS, VALIDATION_ERROR, Fault, Refusal

IMPORT = re.compile(r"^from .* import (?:\([^)]*\)|.*)$", re.MULTILINE)
PACKAGE = Path(faults.__file__).parents[1]
NAMES = {name: value for name, value in vars(faults).items() if isinstance(value, Fault)}

EXPECTED = {
    "VALIDATION_ERROR": ("validation_error", 400),
    "AUTHENTICATION_FAILED": ("authentication_failed", 401),
    "PERMISSION_DENIED": ("permission_denied", 401),
    "FORBIDDEN": ("forbidden", 403),
    "NOT_FOUND": ("not_found", 404),
    "METHOD_NOT_ALLOWED": ("method_not_allowed", 405),
    "RETIRED": ("method_not_allowed", 405),
    "NOT_ACCEPTABLE": ("not_acceptable", 406),
    "BODY_TOO_LARGE": ("body_too_large", 413),
    "UNSUPPORTED_MEDIA_TYPE": ("unsupported_media_type", 415),
    # The 400s of payments: assumed 0.5-codes, D18.
    "DUPLICATE_EVENT": ("duplicate_event", 400),
    "INVALID_TRANSACTION_STATE": ("invalid_transaction_state", 400),
    "INVALID_CAPTURE_SEQUENCE": ("invalid_capture_sequence", 400),
    "EXCEEDS_ORIGINAL_AUTH": ("exceeds_original_auth", 400),
    "INVALID_TIP_ADJUSTMENT": ("invalid_tip_adjustment", 400),
    "REVERSE_EXCEEDS_AVAILABLE": ("reverse_exceeds_available", 400),
    "REFUND_EXCEEDS_CAPTURED": ("refund_exceeds_captured", 400),
    "CONFLICT": ("conflict", 409),
    "MISDIRECTED": ("misdirected_request", 421),
    # By readings: assumed D35-validation, D35-boarding.
    "UNPROCESSABLE": ("validation_error", 422),
    "NO_CREATOR": ("forbidden", 403),
    "ACCOUNT_BLOCKED": ("account_blocked", 423),
    "INTERNAL_ERROR": ("internal_error", 500),
    "NOT_WRITTEN": ("internal_error", 500),
    "NOT_READ": ("internal_error", 500),
    # What is answered where the transport is to fail: assumed 5.3.
    "RATE_LIMITED": ("rate_limited", 429),
    "SERVER_FAILED": ("internal_error", 500),
    "BAD_GATEWAY": ("bad_gateway", 502),
    "UNAVAILABLE": ("unavailable", 503),
    "GATEWAY_TIMEOUT": ("gateway_timeout", 504),
}

TABLES = ("transitions.py", "outcomes.py", "transport_faults.py", "form.py", "accounts.py")
"""Where faults stand in rows: code that takes the row raises what it names."""


@cache
def _sources() -> list[tuple[str, str]]:
    """Name and text of every file of the package."""
    return [(path.name, path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")]


@pytest.mark.proves("spec 7-codes", "assumed 0.5-codes, 0.5-http, D18")
def test_codes_and_statuses_are_those_that_clients_branch_on():
    assert {name: (fault.code, fault.status) for name, fault in NAMES.items()} == EXPECTED
    assert sorted(map(id, FAULTS)) == sorted(map(id, NAMES.values()))
    assert len(FAULTS) == len({fault.message for fault in FAULTS})
    for fault in FAULTS:
        assert 400 <= fault.status <= 599
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", fault.code)
        assert re.fullmatch(r"[A-Z].*\.", fault.message)
        assert re.match(r"(spec|assumed) ", fault.source)


def test_every_fault_is_raised_somewhere_or_stands_in_a_row():
    raised = {
        name
        for file, text in _sources()
        for name in re.findall(r"(?:Refusal\(|fault =)\s*(?:faults\.)?([A-Z_]+)\b", text)
        if file != "faults.py"
    }
    in_rows = {
        word
        for file, text in _sources()
        if file in TABLES
        for word in re.findall(r"\b[A-Z_]+\b", IMPORT.sub("", text))
    }

    assert set(NAMES) <= raised | in_rows


def test_no_other_fault_is_made_anywhere():
    made = [file for file, text in _sources() if re.search(r"\bFault\(", text)]

    assert made == ["faults.py"]


@pytest.mark.parametrize(
    ("given", "details", "reason", "source"),
    [
        ({}, "", "The request is not valid.", "spec 7-400"),
        ({"details": "name: required"}, "name: required", "name: required", "spec 7-400"),
        (
            {"details": "shown", "reason": "for the journal", "source": "assumed D5"},
            "shown",
            "for the journal",
            "assumed D5",
        ),
        ({"reason": "for the journal"}, "", "for the journal", "spec 7-400"),
    ],
)
def test_a_refusal_says_to_the_journal_what_it_says_to_the_client_unless_told_otherwise(
    given, details, reason, source
):
    refusal = Refusal(VALIDATION_ERROR, **given)

    assert (refusal.details, refusal.reason, refusal.source) == (details, reason, source)
    assert str(refusal) == reason
