"""An example of the running scenario is played in its world, after those before it."""

import pytest

from tests.control.refusals import assert_refused

STORY = """
name = "A story"

[[rule]]
name = "ask for the tap"
when = { amount = 700 }
then = { tap = "wait" }

[[rule]]
name = "no funds"
when = { operation = "capture", amount = 300 }
then = { outcome = "capture_declined" }

[[example]]
name = "a sale"
send = { operation = "sale", amount = 1300 }
expect = { status = "captured" }

[[example]]
name = "a hold"
send = { operation = "auth", amount = 5000, event_id = "order-1" }
expect = { http = 200, status = "authorized", event = "transaction.authorize" }

[[example]]
name = "a day later"
send = { operation = "advance", by = "1d" }
expect = { status = "authorized" }

[[example]]
name = "no funds for it"
send = { operation = "capture", amount = 300, on = "a hold" }
expect = { http = 418 }

[[example]]
name = "it is found"
send = { operation = "find", event_id = "order-1" }
expect = { status = "authorized", fields = { event_id = "order-1" } }

[[example]]
name = "a tap"
send = { operation = "sale", amount = 700, tap = { after = "10s", card = "tok_visa_credit" } }
expect = { status = "captured", received = [] }
"""


def play(sandbox, example, **more):
    return sandbox.manage_on_loop("/scenario/play", example=example, **more)


def played(sandbox, example, **more):
    return play(sandbox, example, **more).expect(200)


@pytest.fixture
def story(sandbox):
    assert sandbox.manage("PUT", "/scenario", {"toml": STORY}).status == 200
    return sandbox


@pytest.mark.proves("assumed D25-play")
def test_an_example_is_played_in_the_world_after_those_before_it(story):
    before = story.look("clock")["now"]

    came = played(story, "no funds for it", **{"from": "a hold"})

    assert (came["name"], came["ok"], came["total"]) == ("A story", False, 3)
    hold, later, capture = came["steps"]
    assert [one["name"] for one in came["steps"]] == ["a hold", "a day later", "no funds for it"]
    assert (hold["status"], hold["mistakes"], later["mistakes"]) == ("authorized", [], [])
    assert hold["messages"][-1]["event_type"] == "transaction.authorize"
    assert capture["mistakes"][0].startswith("http: expected 418, got ")
    sent = hold["requests"][0]
    assert (sent["method"], sent["path"], sent["status"]) == ("POST", "/v3/preauth", 200)
    assert (sent["body"]["amount"], sent["answer"]["status"]) == (5000, "authorized")
    moved = later["requests"][0]
    assert (moved["request_id"], moved["body"]) == (None, {"by": "1d"})
    # All of it happened here: the payment, the clock, the journal, the counts of rules.
    assert story.manage("GET", f"/payments/{hold['subject']}").status == 200
    assert story.look("clock")["now"] == came["now"] > before
    entry = story.look(f"requests/{sent['request_id']}")
    assert entry["origin"] == "console"
    rules = {one["name"]: one["applied"] for one in story.look("scenario")["rules"]}
    assert rules == {"ask for the tap": 0, "no funds": 1}


def test_an_example_is_played_again_with_event_ids_of_its_own(story):
    first, second = (played(story, 5)["steps"] for _ in range(2))

    assert [one["number"] for one in first] == [1, 2, 3, 4, 5]
    assert [one["subject"] for one in first][1] == first[4]["subject"]
    assert [one["mistakes"] for one in first] == [one["mistakes"] for one in second]
    assert first[4]["mistakes"] == []
    assert first[1]["subject"] != second[1]["subject"]


def test_a_tap_is_that_of_the_example_and_webhooks_are_left_to_the_world(story):
    (step,) = played(story, 6, **{"from": 6})["steps"]

    assert (step["status"], step["mistakes"]) == ("captured", [])
    taps = [one["path"] for one in step["requests"] if one["path"].startswith("/taps/")]
    assert taps == [f"/taps/{step['subject']}"]


def test_an_unplayable_example_is_refused_before_anything_is_sent(sandbox):
    asked = sandbox.look("requests")["total"]
    assert_refused(play(sandbox, 1), 404, "no_scenario")
    sandbox.manage("PUT", "/scenario", {"toml": 'name = "empty"'})
    assert_refused(play(sandbox, 1), 409, "no_example")
    sandbox.manage("PUT", "/scenario", {"toml": STORY})
    for number in (0, 7, -1):
        answer = play(sandbox, number)
        assert_refused(answer, 400, "validation_error")
        assert "its examples are 1 to 6" in answer.json()["message"]
    assert_refused(play(sandbox, "a hole"), 400, "validation_error", "a hold")
    assert_refused(play(sandbox, 1, **{"from": 2}), 400, "validation_error")
    assert_refused(play(sandbox, 1, **{"from": "a hodl"}), 400, "validation_error", "a hold")
    assert_refused(play(sandbox, 1, exampel=1), 400, "validation_error", "example")
    for wrong in (None, 1.5, True, "", {}):
        assert_refused(play(sandbox, wrong), 400, "validation_error")
    nowhere = '[[example]]\nsend = { operation = "sale", terminal = "merchan" }\nexpect = {}\n'
    sandbox.manage("PUT", "/scenario", {"toml": f'name = "x"\n{nowhere}'})
    assert_refused(play(sandbox, 1), 409, "not_playable", "merchant")
    assert sandbox.look("requests")["total"] == asked


def test_examples_that_take_too_long_are_given_up_and_the_world_continues(sandbox, monkeypatch):
    monkeypatch.setattr("sandbox.app._PROVED_WITHIN_S", 0)
    sandbox.manage("PUT", "/scenario", {"toml": STORY})

    steps = played(sandbox, 2)["steps"]

    given_up = "was given up: the steps took more than 0 s in all"
    assert [one["mistakes"] for one in steps] == [[given_up], [given_up]]
    monkeypatch.undo()
    assert played(sandbox, 1)["ok"]
