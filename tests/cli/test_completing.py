"""Shell completion: the words that a shell offers, as it asks for them."""

import pytest

from sandbox.domain.events import EVENTS
from sandbox.domain.payments.outcomes import OUTCOMES
from tests.cli.asking import add_world, offered, told

NOBODY = "http://127.0.0.1:9"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_is_offered_the_words_of_a_table(shell):
    assert offered("sandbox pay 10 --card tok_amex", shell) == ["tok_amex"]
    assert f"_SANDBOX_COMPLETE={shell}_complete" in told(_SANDBOX_COMPLETE=f"{shell}_source")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("sandbox resen", ["resend"]),
        ("sandbox trigg", ["trigger"]),
        ("sandbox next lost", ["lost_card"]),
        ("sandbox next --fault drop_a", ["drop_after"]),
        ("sandbox pay 1 --outcome ", list(OUTCOMES)),
        ("sandbox trigger batch.", [name for name in EVENTS if name.startswith("batch.")]),
        ("sandbox scenario show slow_t", ["slow_tap"]),
        ("sandbox switch batch", ["batch.settlement"]),
        ("sandbox switch batch.settlement m", ["manual"]),
        ("sandbox confirm last ", ["yes", "no"]),
        ("sandbox tap --card tok_am", ["tok_amex"]),
        ("sandbox listen --events transaction.sale,batch.op", ["transaction.sale,batch.opened"]),
        ("sandbox doctor --events batch.op", ["batch.opened"]),
        ("sandbox serve --scenario slow_t", ["slow_tap"]),
        ("sandbox run --scenario slow_t", ["slow_tap"]),
    ],
    ids=str,
)
def test_words_of_tables_need_no_server(line, words):
    assert offered(line, SANDBOX_URL=NOBODY)[: len(words)] == words


def test_worlds_and_casts_are_those_of_the_server_and_none_without_one(served):
    add_world(served, "completes")
    at = {"SANDBOX_URL": served.url, "SANDBOX_WORLD": "completes"}

    assert offered("sandbox pay 10 --world complet", **at) == ["completes"]
    assert offered("sandbox world show complet", **at) == ["completes"]
    assert offered("sandbox pay 10 --as surch", **at) == ["surcharge_merchant"]
    assert offered("sandbox pay 10 --terminal tax", **at) == ["tax_merchant"]
    assert offered("sandbox keys --name part", **at) == ["partner"]
    assert offered("sandbox pay 10 --as surch", SANDBOX_URL=NOBODY) == []
