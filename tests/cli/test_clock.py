"""`sandbox clock`, `agenda` and `maintenance`: the time of a world, and what falls due."""

import re


def test_it_is_shown_and_moved_as_the_arguments_say(shell):
    for arguments, now in {
        "": "2026-03-01T12:00:00.000Z",
        "show": "2026-03-01T12:00:00.000Z",
        "freeze": "2026-03-01T12:00:00.000Z",
        "advance PT36H": "2026-03-03T00:00:00.000Z",
        "advance --to 2026-03-04T00:00:00Z": "2026-03-04T00:00:00.000Z",
        "set 2025-01-01T00:00:00Z": "2025-01-01T00:00:00.000Z",
        "freeze 2027-01-01T01:00:00+01:00": "2027-01-01T00:00:00.000Z",
    }.items():
        shown = shell.json(f"clock {arguments}")

        assert (shown["now"], shown["mode"]) == (now, "frozen"), arguments
        assert shell.look("clock")["now"] == now, arguments
    assert shell("clock") == "2027-01-01T00:00:00.000Z  frozen\n"


def test_a_clock_runs_at_a_rate_and_freezes_where_it_is(shell):
    running = shell("clock run --rate 60")
    frozen = shell("clock freeze")

    assert re.fullmatch(r"2026-03-01T12:\S+  running at 60 times\n", running)
    assert re.fullmatch(r"2026-03-01T12:\S+  frozen\n", frozen)


def test_an_advance_lists_what_happened_and_the_agenda_what_will(shell):
    nothing = shell("clock advance 1s").splitlines()
    shell("pay 50 --hold")
    agenda = "agenda --kind authorization_expires"
    planned = shell(agenda)
    shown = shell("clock advance 8d").splitlines()
    left = shell(agenda)
    shell("pay 50 --hold")
    before = shell.json("clock advance --next --before")
    (fired,) = shell.json("clock advance --next")["fired"]

    assert nothing == ["2026-03-01T12:00:01.000Z  frozen", "nothing fell due"]
    assert planned.splitlines()[0].split() == ["due", "what", "of", "leads", "to", "clause"]
    assert "canceled: timed_out" in planned
    now, summary, headers, first, *_ = shown
    assert now == "2026-03-09T12:00:01.000Z  frozen"
    assert summary.startswith("1 thing happened on the way: 1 ")
    assert headers.split() == ["at", "what", "of"]
    assert first.startswith("2026-03-06T12:00:01.000Z")
    assert left == "nothing falls due\n"
    assert (before["now"][-5:], before["fired"]) == (".999Z", [])
    assert fired["kind"] == "authorization_expires"


def test_maintenance_is_begun_shown_and_ended(shell):
    none = shell("maintenance")
    begun = shell("maintenance 10m")
    refused = shell.get("/v2/terminals")
    ended = shell("maintenance --end")

    assert (none, ended) == ("no maintenance\n", "no maintenance\n")
    assert begun == "under maintenance until 2026-03-01T12:10:00.000Z\n"
    assert refused.status == 503
    assert shell.get("/v2/terminals").status == 200
