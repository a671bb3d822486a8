"""`sandbox clock`: shown, advanced, set, frozen and run on."""

import json
import re

import pytest

from tests.cli.asking import pay, told


@pytest.mark.parametrize("command", [["clock"], ["clock", "show"]], ids=" ".join)
def test_it_shows_what_time_it_is(served, world, command):
    shown = told(*command, "--world", world["id"], server=served)

    assert shown == "2026-03-01T12:00:00.000Z  frozen\n"


def test_it_advances_and_lists_what_happened_on_the_way(served, world):
    key = world["keys"]["merchant"]["key"]
    terminal = world["terminals"]["merchant"]
    sent = {"amount": 5000, "terminal_id": terminal}
    served.ask("POST", "/v3/preauth", key=key, json=sent)

    shown = told("clock", "advance", "8d", "--world", world["id"], server=served)

    now, summary, headers, *fired = shown.splitlines()
    assert now == "2026-03-09T12:00:00.000Z  frozen"
    assert summary.startswith("1 thing happened on the way: 1 ")
    assert headers.split() == ["at", "what", "of"]
    assert fired[0].startswith("2026-03-06T12:00:00.000Z")


@pytest.mark.parametrize(
    ("arguments", "clock"),
    [
        (["advance", "PT36H"], ("2026-03-03T00:00:00.000Z", "frozen")),
        (["advance", "--to", "2026-03-02T00:00:00Z"], ("2026-03-02T00:00:00.000Z", "frozen")),
        (["set", "2025-01-01T00:00:00Z"], ("2025-01-01T00:00:00.000Z", "frozen")),
        (["freeze", "2027-01-01T01:00:00+01:00"], ("2027-01-01T00:00:00.000Z", "frozen")),
        (["freeze"], ("2026-03-01T12:00:00.000Z", "frozen")),
    ],
    ids=str,
)
def test_it_is_moved_as_the_arguments_say(served, world, arguments, clock):
    shown = json.loads(told("clock", *arguments, "--json", "--world", world["id"], server=served))

    assert (shown["now"], shown["mode"]) == clock
    assert served.control("GET", f"/worlds/{world['id']}/clock").json()["now"] == clock[0]


def test_it_runs_on_at_a_rate_and_stops_where_it_is(served, world):
    at = ("--world", world["id"])
    running = told("clock", "run", "--rate", "60", *at, server=served)
    frozen = told("clock", "freeze", *at, server=served)

    assert re.fullmatch(r"2026-03-01T12:\S+  running at 60 times\n", running)
    assert re.fullmatch(r"2026-03-01T12:\S+  frozen\n", frozen)


def test_nothing_that_fell_due_is_said(served, world):
    shown = told("clock", "advance", "1s", "--world", world["id"], server=served)

    assert shown.splitlines() == ["2026-03-01T12:00:01.000Z  frozen", "nothing fell due"]


def test_json_has_all_that_happened(served, world):
    pay(served, world, amount=900091)

    shown = json.loads(
        told("clock", "advance", "30d", "--json", "--world", world["id"], server=served)
    )

    assert set(shown) == {"now", "mode", "rate", "fired"}


def test_the_agenda_tells_what_an_advance_brings(served, world):
    at = ("--world", world["id"])
    sent = {"amount": 5000, "terminal_id": world["terminals"]["merchant"]}
    served.ask("POST", "/v3/preauth", key=world["keys"]["merchant"]["key"], json=sent)

    told_of = told("agenda", *at, "--kind", "authorization_expires", server=served)
    brought = json.loads(told("clock", "advance", "--next", "--json", *at, server=served))
    left = told("agenda", *at, "--kind", "authorization_expires", server=served)

    assert told_of.splitlines()[0].split() == ["due", "what", "of", "leads", "to", "clause"]
    assert "canceled: timed_out" in told_of
    assert [one["kind"] for one in brought["fired"]] == ["authorization_expires"]
    assert left == "nothing falls due\n"


def test_a_maintenance_is_begun_shown_and_ended(served, world):
    at = ("--world", world["id"])
    key = world["keys"]["merchant"]["key"]

    none = told("maintenance", *at, server=served)
    begun = told("maintenance", "10m", *at, server=served)
    refused = served.ask("GET", "/v2/terminals", key=key)
    ended = told("maintenance", "--end", *at, server=served)

    assert (none, ended) == ("no maintenance\n", "no maintenance\n")
    assert begun == "under maintenance until 2026-03-01T12:10:00.000Z\n"
    assert refused.status_code == 503
    assert served.ask("GET", "/v2/terminals", key=key).status_code == 200
