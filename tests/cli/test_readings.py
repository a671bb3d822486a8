"""`sandbox readings`: shown, chosen, returned to the profile's, refused."""

import json

from tests.cli.asking import add_world, ask, told


def test_readings_are_shown_and_chosen(served):
    world = ("--world", add_world(served, "readings-cli")["id"])

    chosen = told("readings", "key_deletes_itself=refused", *world, server=served)
    shown = json.loads(told("readings", "--json", *world, server=served))
    told("readings", "key_deletes_itself=null", *world, server=served)
    after = json.loads(told("readings", "--json", *world, server=served))

    assert "refused" in chosen
    assert shown["key_deletes_itself"] == "refused"
    assert after["key_deletes_itself"] == "allowed"


def test_the_nearest_word_is_named_once(served):
    done = ask("readings", "limit_above_maximum=clampd", server=served)

    assert done.exit_code == 2
    assert done.stderr.count("did you mean 'clamped'?") == 1
