"""What is looked up: in catalogues and the ledger without a server, and in a running server."""

import json
import os
import subprocess

from sandbox.domain.payments.cards import CARDS
from sandbox.domain.payments.outcomes import OUTCOMES, TRIGGERS, Operation, for_operation
from tests.cli.asking import ask, assert_refused, following, told
from tests.driving import serving

# --- catalogues ---------------------------------------------------------------------------------


def test_a_catalogue_is_shown_whole_and_as_json_like_the_servers(served):
    for command, known in {
        "outcomes": list(OUTCOMES),
        "cards": list(CARDS),
        "amounts": [str(amount) for amount in TRIGGERS],
    }.items():
        lines = told(command).splitlines()
        answered = served.control("GET", f"/{command.replace('amounts', 'triggers')}").json()

        assert [line.split()[0] for line in lines[1 : len(known) + 1]] == known
        assert json.loads(told(command, "--json")) == answered
    assert told("triggers", "900051") == told("amounts", "900051"), "an earlier name"
    assert "triggers" not in told("--help")


def test_a_search_finds_what_has_all_its_words():
    for arguments, first in {
        "outcomes FUNDS": ["insufficient_funds", "incremental_insufficient_funds"],
        "outcomes lost 41": ["lost_card"],
        "outcomes timeout sale": ["processor_timeout", "timed_out", "timed_out_held"],
        "outcomes drop_after": ["drop_after"],
        "cards amex": ["tok_amex"],
        "cards visa debit": ["tok_visa_debit"],
        "amounts 900051": ["900051"],
    }.items():
        lines = told(*arguments.split()).splitlines()

        assert [line.split()[0] for line in lines[1:]] == first


def test_the_outcomes_of_an_operation_are_those_that_it_can_have():
    for operation in Operation:
        found = json.loads(told("outcomes", "--for", operation, "--json"))

        can = [key for key in OUTCOMES if for_operation(key, operation) is not None]
        assert [one["key"] for one in found["outcomes"]] == can
        assert found["faults"]
    lines = told("outcomes", "--for", "incremental_auth", "insufficient_funds").splitlines()
    assert "incremental_auth_declined" in lines[1]


def test_the_ledger_lists_every_clause_and_shows_one_whole(served):
    lines = told("ledger").splitlines()
    listed = json.loads(told("ledger", "--json"))
    first, *others = told("ledger", "spec 5.11").splitlines()
    unproved = json.loads(told("ledger", "--unproved", "--json"))["clauses"]

    assert listed == served.control("GET", "/ledger").json()
    assert [line.split()[0] for line in lines[1:3]] == ["spec", "spec"]
    assert lines[-1] == f"{listed['total']} clauses; name one to see it in full"
    assert first == "spec 5.11  Life of a key"
    assert "  code   domain/keys.py" in others
    assert any(line.startswith("  tests  tests/platform/test_apikeys_life.py::") for line in others)
    assert [clause["id"] for clause in unproved if clause["tests"]] == []


# --- keys ---------------------------------------------------------------------------------------


def test_keys_are_shown_in_full_bare_as_json_and_as_variables_of_a_shell(shell):
    keys = {name: one["key"] for name, one in shell.view["keys"].items()}
    shown = dict(line.split() for line in shell("keys").splitlines())
    names = "$SANDBOX_KEY $SANDBOX_TERMINAL $SANDBOX_KEY_MERCHANT_READ_ONLY"
    script = f"{shell('keys --env')}echo {names}"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=10)

    assert shown == {"name": "key"} | keys
    bare = shell.server.url.removeprefix("http://")
    assert shell(f"keys --name partner --url {bare}") == keys["partner"] + "\n"
    assert shell.json("keys --name partner") == {"partner": keys["partner"]}
    terminal = shell.view["terminals"]["merchant"]
    assert done.stdout.split() == [keys["merchant"], terminal, keys["merchant_read_only"]]
    assert shell("keys --env --name psp").splitlines() == [
        f"export SANDBOX_KEY={keys['psp']}",
        f"export SANDBOX_KEY_PSP={keys['psp']}",
    ]


# --- a running server ---------------------------------------------------------------------------


def test_the_lens_shows_the_answer_that_a_key_would_get_and_who_could(shell):
    allowed = shell("lens merchant accounts.read merchant")
    refused = shell.invoke("lens other_partner accounts.read merchant")
    whole = shell("lens merchant_read_only")

    assert allowed.startswith("200  allowed\n")
    assert "could         " in allowed
    assert refused.exit_code == 1
    assert "outside the caller's hierarchy" in refused.stdout
    assert "payments.capture" in whole


def test_find_shows_the_record_with_an_id_and_fails_without_one(shell):
    nothing = shell.invoke("find no-such-id")

    assert "account" in shell("find merchant")
    assert shell.json("find merchant")["found"]
    assert (nothing.exit_code, nothing.stdout) == (1, "nothing has the id 'no-such-id'\n")


def test_a_server_with_a_token_is_followed_and_its_console_opened_with_it(monkeypatch):
    token = "open-sesame-open-sesame"
    monkeypatch.setitem(os.environ, "SANDBOX_TOKEN", token)
    with serving() as server:
        shown = told("open", "--print", server=server).strip()
        missing = ask("open", "--print", "--world", "defualt", server=server)
        for line in (["listen", "9", "--token", ""], ["tail", "--token", "wrong"]):
            assert_refused(ask(*line, server=server), 1, "--token", "SANDBOX_TOKEN")
        with following("listen", "9000", SANDBOX_URL=server.url) as listening:
            listening.until("^C to quit")
            assert listening.stop() == (0, "")

    assert shown == f"{server.facts['control_url']}/#token={token}/default/overview"
    assert_refused(missing, 2, "default")


def test_coverage_is_that_of_a_world_or_of_the_server_and_too_little_ends_with_1(shell):
    shell.paid()
    shown = shell("coverage")
    found = shell.json("coverage")
    too_little = shell.invoke("coverage --fail-under 50")
    whole = json.loads(told("coverage", "--json", server=shell.server))

    assert shown.splitlines()[0].startswith("operations")
    assert found == shell.look("coverage")
    assert found["operations"]["exercised"] == {"payments.create": 1}
    assert shell("coverage --fail-under 1") == shown
    assert (too_little.exit_code, too_little.stdout) == (1, shown)
    assert "% of the operations were exercised, less than 50 %\n" in too_little.stderr
    assert whole == shell.server.control("GET", "/coverage").json()
    assert "payments.create" in whole["operations"]["exercised"]
