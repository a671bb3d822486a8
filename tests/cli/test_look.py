"""`sandbox lens` and `sandbox find` look into a running server."""

import json

from tests.cli.asking import ask, told


def test_the_lens_says_what_a_key_would_be_answered_and_who_could(served):
    allowed = told("lens", "merchant", "accounts.read", "merchant", server=served)
    refused = ask("lens", "other_partner", "accounts.read", "merchant", server=served)

    assert allowed.startswith("200  allowed\n")
    assert "could         " in allowed
    assert refused.exit_code == 1
    assert "outside the caller's hierarchy" in refused.stdout


def test_without_an_operation_the_lens_shows_all_of_them(served):
    shown = told("lens", "merchant_read_only", server=served)
    same = json.loads(told("lens", "merchant_read_only", "--json", server=served))

    assert "payments.capture" in shown
    assert {row["operation"] for row in same["rows"]} >= {"payments.capture", "accounts.read"}


def test_find_shows_what_has_an_id_and_fails_where_nothing_has(served):
    shown = told("find", "merchant", server=served)
    nothing = ask("find", "no-such-id", server=served)

    assert "account" in shown
    assert json.loads(told("find", "merchant", "--json", server=served))["found"]
    assert (nothing.exit_code, nothing.stdout) == (1, "nothing has the id 'no-such-id'\n")
