"""The receiver of the test kit: what it takes, what it refuses, and waiting for it."""

import pytest
import standardwebhooks

from tests.testing.conftest import pay
from uat_sandbox import NothingCame, SandboxRefused


def test_a_webhook_is_found_again_until_a_later_one_is_asked_for(world):
    payment, second = pay(world), pay(world)
    world.webhooks.settle()

    found = world.webhooks.wait_for("transaction.sale", status="captured", timeout_s=0)

    assert (found.event_type, found.subject) == ("transaction.sale", payment["transaction_id"])
    assert (found.is_genuine, found.attempt, found.answered) == (True, 1, 200)
    assert found.body["total_amount"] == 1000
    standardwebhooks.Webhook(world.webhooks.secret).verify(found.raw, dict(found.headers))
    assert world.webhooks.wait_for("transaction.sale") == found
    assert world.webhooks.wait_for(after=found).subject == second["transaction_id"]


def test_the_error_lists_what_came_instead(world):
    world.next("insufficient_funds")
    payment = pay(world)
    world.webhooks.settle()

    with pytest.raises(NothingCame) as nothing:
        world.webhooks.wait_for("transaction.sale", status="captured", tip=1, timeout_s=0.01)

    created, sale = (one.id for one in world.webhooks.received)
    assert str(nothing.value).splitlines() == [
        "no transaction.sale with status 'captured' with tip 1 came within 0.01 s",
        f"  transaction.create {created}: it is transaction.create; its status is 'pending'; "
        "it has no tip",
        f"  transaction.sale {sale}: its status is 'declined'; it has no tip",
    ]
    with pytest.raises(NothingCame, match=f"it is about {payment['transaction_id']}"):
        world.webhooks.wait_for(subject="another", timeout_s=0.01)


def test_misuse_is_refused(world):
    with pytest.raises(NothingCame, match="nothing came"):
        world.webhooks.wait_for(timeout_s=0.01)
    with pytest.raises(ValueError, match=r"no event 'transaction\.sell'; did you mean"):
        world.webhooks.wait_for("transaction.sell")
    with pytest.raises(ValueError, match="cannot answer 99"):
        world.webhooks.respond(99)


def test_none_is_expected_once_everything_was_sent(world):
    pay(world)

    world.webhooks.expect_none("transaction.sale", status="declined")

    with pytest.raises(AssertionError, match=r"transaction\.sale: none was expected, and msg_"):
        world.webhooks.expect_none("transaction.sale")


SPOILT = [
    ({"signature": "wrong"}, "No matching signature found"),
    ({"signature": "missing"}, "Missing required headers"),
    ({"stale_timestamp": True}, "Message timestamp too old"),
    ({"truncate": True}, "No matching signature found"),
]


def test_forged_webhooks_are_kept_apart_and_withheld_ones_are_reported(world):
    def sell(then):
        when = {"event": "transaction.sale"}
        world.scenario({"name": "spoils", "webhook": [{"when": when, "then": then}]})
        pay(world)
        world.webhooks.settle()

    for then, problem in SPOILT:
        sell(then)
        refused = world.webhooks.refused[-1]
        assert (refused.problem, refused.answered, refused.is_genuine) == (problem, 401, False)
    assert len(world.webhooks.refused) == len(SPOILT)
    came = {one.event_type for one in world.webhooks.received}
    assert came == {"transaction.create", "batch.opened"}
    with pytest.raises(NothingCame, match="not genuine: No matching signature found"):
        world.webhooks.wait_for("transaction.sale", timeout_s=0.01)
    sell({"drop": True})
    with pytest.raises(NothingCame, match=r"transaction\.sale msg_\w+: emitted, but dropped"):
        world.webhooks.wait_for("transaction.sale", timeout_s=0.01)


def test_a_receiver_fails_a_number_of_times_or_from_now_on(kit):
    with kit.world(clock="2026-03-01T12:00:00Z") as world:
        world.webhooks.listen(["transaction.sale"])
        pay(world)
        world.webhooks.expect_accepted()
        world.webhooks.respond(500, times=1, headers={"X-Why": "tired"}, body="not now")
        world.webhooks.respond(503, times=1)
        pay(world)
        world.advance("1h")
        first, second, third = world.webhooks.received[1:]
        delivery = world.messages[-1]["deliveries"][0]
        world.webhooks.respond(500)
        pay(world)
        with pytest.raises(AssertionError, match=r"transaction\.sale msg_\w+: answered 500"):
            world.webhooks.expect_accepted()
        world.advance("10m")
        world.webhooks.respond(204)
        world.advance("1d")
        later = [one.answered for one in world.webhooks.received[4:]]

    assert [one.answered for one in (first, second, third)] == [500, 503, 200]
    assert [one.attempt for one in (first, second, third)] == [1, 2, 3]
    assert first.id == second.id == third.id
    assert delivery["attempts"][0]["response"] == "not now"
    assert delivery["status"] == "delivered"
    assert later == [500, 500, 500, 204]


def test_a_receiver_that_answered_410_is_named_until_the_world_is_reset(world):
    world.webhooks.respond(410)
    pay(world)
    world.webhooks.settle()

    with pytest.raises(NothingCame) as nothing:
        world.webhooks.wait_for("transaction.sale", timeout_s=0.01)
    world.reset()
    payment = pay(world)

    *_, last = str(nothing.value).splitlines()
    assert last == "  this receiver is disabled: it answered 410 Gone"
    world.webhooks.wait_for("transaction.sale", subject=payment["transaction_id"])


def test_only_the_events_that_were_asked_for_arrive(world):
    world.webhooks.listen(["transaction.sale"], account_id=world.account(), status=["declined"])
    pay(world)
    world.next("insufficient_funds")
    pay(world)
    world.webhooks.settle()
    heard = [(one.event_type, one.body["status"]) for one in world.webhooks.received]

    world.webhooks.listen()
    pay(world)
    world.webhooks.settle()

    assert heard == [("transaction.sale", "declined")]
    assert len(world.webhooks.received) == 3


def test_worlds_share_the_receiver_and_receive_only_their_own(world):
    other = world.new_world()
    pay(other)
    other.webhooks.settle()

    assert world.webhooks.received == []
    assert other.webhooks.url != world.webhooks.url
    assert len(other.webhooks.received) == 3
    # The application under test can have webhooks too; with another secret they seem forged here.
    endpoint = world.endpoint(
        other.webhooks.url,
        event_types=["transaction.sale"],
        account="merchant",
        status=["captured"],
    )
    pay(world)
    world.webhooks.settle()
    assert endpoint["secret"].startswith("whsec_")
    assert [one.problem for one in other.webhooks.refused] == ["No matching signature found"]


def test_an_endpoint_takes_a_secret_that_the_application_knows_already(world):
    secret, own = "whsec_" + "QUFB" * 8, world.webhooks.secret

    made = world.endpoint(
        world.webhooks.url + "/app", event_types="transaction.sale", secret=secret, id="shop"
    )

    assert (made["id"], made["secret"], made["event_types"]) == (
        "shop",
        secret,
        ["transaction.sale"],
    )
    # A secret is not shown where a test fails.
    assert own not in f"{world.webhooks!r} {world!r}"
    with pytest.raises(SandboxRefused, match="colour"):
        world.endpoint(world.webhooks.url, colour=["red"])
