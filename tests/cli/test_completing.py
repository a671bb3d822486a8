"""Shell completion: the words that a shell offers, as it asks for them."""

import pytest

from sandbox.domain.events import EVENTS
from sandbox.domain.payments.outcomes import OUTCOMES
from tests.cli.asking import offered, told

NOBODY = "http://127.0.0.1:9"


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_each_shell_is_offered_the_words_of_a_table(shell_name):
    found = offered("sandbox listen --events=transaction.sale,batch.op", shell_name)
    # Bash replaces what follows the sign, other shells the whole word.
    option = "" if shell_name == "bash" else "--events="
    assert found == [f"{option}transaction.sale,batch.opened"]
    script = told(_SANDBOX_COMPLETE=f"{shell_name}_source")
    assert f"_SANDBOX_COMPLETE={shell_name}_complete" in script
    assert 'split ","' not in script, "values and descriptions have commas"


def test_words_of_tables_need_no_server():
    for line, words in {
        "clock ": ["advance", "freeze", "run", "set", "show"],
        "clock --w": ["--world"],
        "next lost": ["lost_card"],
        "next --fault drop_a": ["drop_after"],
        "pay 1 --outcome ": list(OUTCOMES),
        "trigger batch.": [name for name in EVENTS if name.startswith("batch.")],
        "scenario show slow_t": ["slow_tap"],
        "world convert sta": ["sta"],
        "switch batch.settlement m": ["manual"],
        "confirm last ": ["yes", "no"],
        "tap --card tok_am": ["tok_amex"],
        "doctor --events batch.op": ["batch.opened"],
        "serve --scenario mine.t": ["mine.t"],
        "pay 10 --as surch": [],
    }.items():
        found = offered(f"sandbox {line}", SANDBOX_URL=NOBODY)
        assert found[: len(words) or None] == words, line


def test_worlds_and_casts_are_those_of_the_server(shell):
    for line, words in {
        f"pay 10 --world {shell.world[:-2]}": [shell.world],
        f"world show {shell.world[:-2]}": [shell.world],
        "pay 10 --as surch": ["surcharge_merchant"],
        "pay 10 --terminal tax": ["tax_merchant"],
        f"keys --url {shell.server.url} --name part": ["partner"],
        "tail --key part": ["partner"],
        "lens part": ["partner"],
        "lens partner accounts.read tax": ["tax_merchant"],
        "reconcile ledger.csv --account tax": ["tax_merchant"],
        f"coverage --world {shell.world[:-2]}": [shell.world],
    }.items():
        assert offered(f"sandbox {line}", **shell.env) == words, line
