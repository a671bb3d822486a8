"""A test waits for a message with one request: `GET /_sandbox/worlds/{w}/wait`."""

import asyncio

import pytest

from tests.control.refusals import assert_refused
from tests.support.payments import turns
from tests.webhooks.calling import WORLD, add, ask_wait, control, living, sample
from tests.webhooks.misbehaving import refusing
from tests.webhooks.receiving import receiving


def wait(sandbox, **query):
    """The answer for which nothing has to happen meanwhile."""
    return asyncio.run(ask_wait(sandbox, **query))


def wait_while(sandbox, happens, **query):
    """The answer, and whether it was there before something happened."""

    async def both():
        waiting = asyncio.create_task(ask_wait(sandbox, **query))
        await turns()
        was_there = waiting.done()
        happens()
        return await waiting, was_there

    return asyncio.run(both())


def test_a_message_that_is_there_already_is_answered_at_once_and_in_full(sandbox):
    id = sample(sandbox)

    answer = wait(sandbox, event_type="account.updated")

    assert answer.status == 200
    assert answer.json() == sandbox.control("GET", f"{WORLD}/messages/{id}").json()


def test_the_first_that_fits_is_answered(sandbox):
    sample(sandbox, "account.blocked")
    first = sample(sandbox)
    sample(sandbox)

    assert wait(sandbox, event_type="account.updated").json()["id"] == first


def test_a_message_that_comes_later_is_answered_as_soon_as_it_is_there(sandbox):
    sample(sandbox, "account.blocked")

    answer, was_there = wait_while(
        sandbox, lambda: sample(sandbox), event_type="account.updated", timeout_s=60
    )

    assert was_there is False
    assert (answer.status, answer.json()["event_type"]) == (200, "account.updated")


def test_what_does_not_fit_is_passed_over(sandbox):
    def three_events():
        sample(sandbox, "account.blocked")
        sample(sandbox, status="blocked")
        sample(sandbox, status="active", name="this one")

    answer, was_there = wait_while(
        sandbox, three_events, event_type="account.updated", status="active", timeout_s=60
    )

    assert was_there is False
    assert answer.json()["body"]["name"] == "this one"


def test_several_wait_side_by_side(sandbox):
    async def all_of_them():
        waits = [ask_wait(sandbox, event_type="account.updated", timeout_s=60) for _ in range(5)]
        tasks = [asyncio.create_task(one) for one in waits]
        await turns()
        sample(sandbox)
        return await asyncio.gather(*tasks)

    answers = asyncio.run(all_of_them())

    assert [one.status for one in answers] == [200] * 5


def test_only_messages_after_the_given_one_count(sandbox):
    first, second = sample(sandbox), sample(sandbox)

    assert wait(sandbox, after=first).json()["id"] == second
    assert wait(sandbox, after=second, timeout_s=0).status == 408
    answer, _ = wait_while(sandbox, lambda: sample(sandbox), after=second, timeout_s=60)
    assert answer.json()["id"] not in (first, second)


def test_a_message_about_the_subject_is_waited_for(sandbox):
    sample(sandbox, id="one")
    other = sample(sandbox, id="other")

    assert wait(sandbox, subject="other").json()["id"] == other


@pytest.mark.parametrize("word", ["true", "1"])
def test_delivered_waits_until_some_endpoint_has_it(sandbox, word):
    async def with_an_endpoint(url):
        async with living(sandbox):
            add(sandbox, url=url, id="e")
            id = sample(sandbox)
            return id, await ask_wait(sandbox, delivered=word, timeout_s=60)

    with receiving() as receiver:
        id, answer = asyncio.run(with_an_endpoint(receiver.url))

    assert answer.status == 200
    assert answer.json()["id"] == id
    assert [one["status"] for one in answer.json()["deliveries"]] == ["delivered"]


# --- nothing comes ----------------------------------------------------------------------------


def test_when_nothing_comes_it_is_a_408_that_says_so(sandbox):
    answer = wait(sandbox, event_type="account.updated", timeout_s=0.01)

    assert answer.status == 408
    assert answer.json() == {
        "error": "nothing_came",
        "message": "no such message within 0.01 s",
        "details": "nothing like it was emitted",
        "near_misses": [],
    }


def misses(answer):
    assert answer.status == 408
    return [(one["id"], one["why"]) for one in answer.json()["near_misses"]]


def test_near_misses_say_what_was_different(sandbox):
    other_type = sample(sandbox, "account.blocked", id="mine")
    other_subject = sample(sandbox, id="other")
    other_status = sample(sandbox, id="mine", status="blocked")
    sample(sandbox, "account.blocked", id="other")

    answer = wait(
        sandbox, event_type="account.updated", subject="mine", status="active", timeout_s=0
    )

    assert misses(answer) == [
        (other_status, "its status is blocked"),
        (other_subject, "it is about other"),
        (other_type, "it is account.blocked"),
    ]
    first = answer.json()["near_misses"][0]
    assert first == {
        "id": other_status,
        "event_type": "account.updated",
        "subject": "mine",
        "why": "its status is blocked",
    }
    assert answer.json()["details"] == ""


def test_what_was_not_delivered_is_a_near_miss_that_says_how_it_fares(sandbox):
    nowhere = sample(sandbox)
    with refusing() as url:
        add(sandbox, url=url)
        pending = sample(sandbox)

        answer = wait(sandbox, delivered="true", timeout_s=0)

    assert misses(answer) == [
        (pending, "its deliveries are pending"),
        (nowhere, "it is for no endpoint"),
    ]


def test_the_newest_five_near_misses_are_listed(sandbox):
    ids = [sample(sandbox) for _ in range(7)]

    answer = wait(sandbox, event_type="account.updated", status="never", timeout_s=0)

    assert [id for id, _ in misses(answer)] == ids[:1:-1]


def test_a_wait_in_another_world_receives_nothing_of_this_one(sandbox):
    sandbox.control("POST", "/worlds", {"id": "other"})
    sample(sandbox)

    answer = asyncio.run(control(sandbox, "GET", "/worlds/other/wait", query="timeout_s=0"))

    assert answer.status == 408


# --- what cannot be ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "nearest"),
    [
        ({"event_type": "account.update"}, "account.updated"),
        ({"event_type": ""}, None),
        ({"event_typ": "account.updated"}, "event_type"),
        ({"timeout_s": "-0.1"}, None),
        ({"timeout_s": "300.1"}, None),
        ({"timeout_s": "nan"}, None),
        ({"timeout_s": "soon"}, None),
        ({"delivered": "perhaps"}, None),
        ({"timeout": "5"}, "timeout_s"),
    ],
    ids=str,
)
def test_a_parameter_that_cannot_be_is_a_400(sandbox, query, nearest):
    sample(sandbox)

    assert_refused(wait(sandbox, **query), 400, "validation_error", nearest)


def test_an_unknown_message_to_come_after_is_a_404(sandbox):
    assert_refused(wait(sandbox, after="msg_x"), 404, "not_found")


def test_an_unknown_world_is_a_404(sandbox):
    answer = asyncio.run(control(sandbox, "GET", "/worlds/defualt/wait"))

    assert_refused(answer, 404, "unknown_world", "default")
