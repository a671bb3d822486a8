"""`sandbox verify` changes only what the user allows, and what it made itself."""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from sandbox.conformance.probe_table import PHASES, Step, probes_of
from sandbox.domain.readings import READINGS
from tests.cli.asking import ask, assert_refused

UAT = "https://uat.example.com"


def test_the_plan_says_what_is_made_and_shows_each_body():
    account = "64e24377-b0e9-4882-9386-a4e53c72c012"
    shown = ask(
        *("verify", UAT, "--plan", "--account", account, "--allow", "keys,directory,payments"),
        *("--tx", "auth=a-1,a-2", "--tx", "captured=c-1"),
    ).stdout

    assert "They make: 10 keys, 1 merchant, 4 terminals, 4 locations.\n" in shown
    assert f'"account_id": "{account}"' in shown
    assert "  POST /v1/payments/a-1/reverse\n" in shown
    assert "  POST /v1/accounts  (partner's key)" in shown
    assert '"expires_at": "{in_an_hour}"' in shown
    assert f"GET /v5/apikeys?account_id={account}" in shown
    assert "POST /v1/payments/a-1/auth  (only if the one before is refused)" in shown


def test_options_that_do_not_fit_together_are_refused():
    key = "svc_uat_abcdefghijkl_" + "m" * 32
    paying = "--allow payments --account a"
    for options, words in {
        "--allow key": "'key' is none of keys, directory, payments",
        "--allow keys": "needs --account",
        paying: "needs --tx",
        "--tx auth=a": "is for --allow payments",
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

    for host in ("api.example.com", "eu.api.example.com", "API.example.com"):
        done = ask("verify", f"https://{host}", "--profile", str(file), "--plan")
        assert_refused(done, 2, "is a host of production")


def test_a_step_that_could_change_what_is_not_the_runs_is_refused():
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
    asked = {one.name for phase in PHASES for one in probes_of(phase) if one.kind == "reading"}
    guide = (Path(__file__).parents[2] / "docs/guides/verifying.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"These readings no probe asks for.*?\n\n(.*?)\n\n", guide, re.DOTALL)

    assert set(re.findall(r"`(\w+)`", table)) == set(READINGS) - asked
