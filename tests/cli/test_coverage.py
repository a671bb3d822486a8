"""`sandbox coverage`: what was exercised, of a world and of a server."""

import json

from tests.cli.asking import add_world, ask, pay, told


def test_the_coverage_of_a_world_is_shown(served):
    world = add_world(served, "covered")
    pay(served, world)

    shown = told("coverage", "--world", "covered", server=served)
    found = json.loads(told("coverage", "--world", "covered", "--json", server=served))

    assert shown.splitlines()[0].startswith("operations")
    assert found == served.control("GET", "/worlds/covered/coverage").json()
    assert found["operations"]["exercised"] == {"payments.create": 1}


def test_without_a_world_it_is_that_of_the_server(served):
    world = add_world(served, "covered-too")
    pay(served, world)
    served.control("DELETE", "/worlds/covered-too")

    found = json.loads(told("coverage", "--json", server=served))

    assert found == served.control("GET", "/coverage").json()
    assert "payments.create" in found["operations"]["exercised"]


def test_too_little_ends_with_status_1(served):
    add_world(served, "uncovered")
    at = ("--world", "uncovered")

    enough = ask("coverage", *at, "--fail-under", "0", server=served)
    too_little = ask("coverage", *at, "--fail-under", "1", server=served)

    assert (enough.exit_code, enough.stderr) == (0, "")
    assert too_little.exit_code == 1
    assert too_little.stdout == enough.stdout
    assert too_little.stderr == ("sandbox: 0.0 % of the operations were exercised, less than 1 %\n")
