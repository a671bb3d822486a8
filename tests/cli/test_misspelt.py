"""A misspelt word ends a command with status 2, and names the nearest word or a few."""

import pytest

from tests.cli.asking import ask, assert_refused


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["next", "insuficient"], ["did you mean 'insufficient_funds'?"]),
        (["pay", "10", "--as", "merchnt"], ["did you mean 'merchant'?"]),
        (["keys", "--name", "merchnt"], ["did you mean 'merchant'?"]),
        (["keys", "--name", "nope"], ["'nope'; there are admin, ", " more"]),
        (["keys", "--world", "nope"], ["there is no world 'nope'; there are default"]),
        (["keys", "--world", "defualt"], ["did you mean 'default'?"]),
        (["scenario", "run", "nope"], ["'nope'; there are approve_all, ", " more"]),
        (["scenario", "show", "slow_tpa"], ["did you mean 'slow_tap'?"]),
        (["trigger", "transaction.sal"], ["did you mean 'transaction.sale'?"]),
        (["trigger", "nope"], ["'nope'; there are ", " more"]),
        (["tail", "--no-follow", "--key", "nope"], ["'nope'; there are admin, "]),
        (["tail", "--no-follow", "--route", "payments.creat"], ["did you mean 'payments.create'?"]),
        (["world", "new", "--fixture", "demoo"], ["did you mean 'demo'?"]),
        (["lens", "merchant", "payments.creat"], ["did you mean 'payments.create'?"]),
        (["listen", "9", "--events", "transaction.sal"], ["did you mean 'transaction.sale'?"]),
    ],
    ids=str,
)
def test_a_misspelt_word_is_not_usable_input(served, arguments, words):
    assert_refused(ask(*arguments, server=served), 2, *words)
