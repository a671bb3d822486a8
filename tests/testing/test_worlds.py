"""A world in a test's hands: who is in it, what it is told, and what it says of misuse."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from sandbox.settings import Settings
from tests.testing.conftest import pay
from uat_sandbox import NothingCame, SandboxError, SandboxRefused, sandbox_server

WAITS = {"name": "waits", "rule": [{"when": {"operation": "sale"}, "then": {"tap": "wait"}}]}


def test_the_cast_is_looked_up_by_name(world):
    assert world.account() == world.view["accounts"]["merchant"]
    assert world.account("partner") == world.view["accounts"]["partner"]
    assert world.terminal("tax_merchant") == world.view["terminals"]["tax_merchant"]
    assert world.location() == world.view["locations"]["merchant"]
    assert world.key("partner") == world.view["keys"]["partner"]["key"]
    headers = {"accept": "application/json", "x-service-apikey": world.key("partner")}
    assert world.headers("partner") == headers
    for any_key in ("svc_uat_x", ""):
        assert world.headers(plaintext=any_key)["x-service-apikey"] == any_key
    assert world.headers(None) == {"accept": "application/json"}
    said = "the cast has no key 'merchnt'; did you mean 'merchant'"
    with pytest.raises(SandboxError, match=said):
        world.client("merchnt")


# --- how payments end


def test_next_chooses_the_outcome_of_a_payment(world):
    world.next("insufficient_funds", operation="sale", amount=1000)

    assert pay(world)["status_reason"] == "insufficient_funds"
    assert pay(world)["status"] == "captured"
    with pytest.raises(SandboxRefused) as refused:
        world.next("insuficient_funds")
    assert (refused.value.nearest, refused.value.status) == ("insufficient_funds", 400)
    assert "did you mean 'insufficient_funds'?" in str(refused.value)


def test_an_attempt_that_timed_out_is_answered_late(world):
    world.next("processor_timeout")
    timed_out = pay(world)

    answered = world.answer(timed_out["transaction_id"], event_id=timed_out["event_id"])
    with pytest.raises(SandboxRefused) as refused:
        world.answer(timed_out["transaction_id"], "do_not_honor")

    assert (timed_out["status"], answered["payment"]["status"]) == ("error", "captured")
    assert refused.value.error == "not_waiting"


def test_a_scenario_runs_by_name_from_a_file_or_written_out_until_it_is_stopped(world, tmp_path):
    file = tmp_path / "lost.toml"
    example = "[[example]]\nsend.operation = 'sale'\nexpect.fields.due = 2026-03-01\n"
    file.write_text('name = "lost"\n[[rule]]\nthen = { outcome = "lost_card" }\n' + example)

    by_name = world.scenario("batch_partially_accepted")
    from_file = world.scenario(file)
    lost = pay(world)
    spell_out = world.scenario(
        {"name": "own", "rule": [{"then": {"outcome": "insufficient_funds"}}]}
    )
    poor = pay(world)
    stopped = world.scenario(None)

    assert by_name["name"]
    assert (from_file["name"], spell_out["name"]) == ("lost", "own")
    assert (lost["status_reason"], poor["status_reason"]) == ("invalid_card", "insufficient_funds")
    assert (stopped, world.scenario()) == (None, None)
    assert pay(world)["status"] == "captured"
    file.write_text('name = "wrong"\n[[rule]]\nthen = { outcome = "lost_crd" }\n')
    with pytest.raises(SandboxRefused, match=r"lost\.toml: scenario: rule 1.*lost_card"):
        world.scenario(str(file))


def test_the_clock_is_set_and_advances_by_a_duration_a_timedelta_or_to_an_instant(world):
    set_to = world.set_clock("2026-03-01T12:00:00Z", mode="frozen")
    held = pay(world, "/v3/preauth")
    fired = world.advance("30d")
    world.advance(timedelta(hours=1, milliseconds=5))
    here = world.clock
    world.advance(to=datetime(2026, 4, 6, tzinfo=UTC))

    assert set_to == {"now": "2026-03-01T12:00:00.000Z", "mode": "frozen", "rate": 1.0}
    assert here == {"now": "2026-03-31T13:00:00.005Z", "mode": "frozen", "rate": 1.0}
    assert [one["subject"] for one in fired] == [held["transaction_id"]]
    assert world.clock["now"] == "2026-04-06T00:00:00.000Z"
    with pytest.raises(ValueError, match="has no time zone"):
        world.advance(to=datetime(2026, 3, 6))
    with pytest.raises(SandboxRefused, match="rate: input should be greater than 0"):
        world.set_clock(rate=0)
    world.advance(timedelta(days=36_525))
    assert world.clock["now"] == "2126-04-07T00:00:00.000Z"


def test_a_tap_waits_for_the_payment_and_ends_it(world):
    world.scenario(WAITS)
    for said, status, reason in (
        ({"card": "tok_visa_debit"}, "captured", "approved"),
        ({"outcome": "insufficient_funds"}, "declined", "insufficient_funds"),
        ({"cancel": "user"}, "canceled", "user_canceled"),
    ):
        with ThreadPoolExecutor(1) as pool:
            paying = pool.submit(pay, world)
            tapped = world.tap(**said)
            payment = paying.result()

        assert (tapped["status"], tapped["status_reason"]) == (status, reason)
        assert payment["status"] == status
        assert status != "captured" or payment["card_type"] == "Debit"
        assert world.taps == []


def test_taps_of_several_threads_end_a_payment_each(world):
    world.scenario(WAITS)
    with ThreadPoolExecutor(16) as pool:
        paying = [pool.submit(pay, world) for _ in range(8)]
        tapping = [pool.submit(world.tap, "tok_visa_debit") for _ in range(8)]

        paid = {one.result()["transaction_id"] for one in paying}
        tapped = {one.result()["transaction_id"] for one in tapping}

    assert tapped == paid


def test_without_a_payment_that_waits_for_a_tap_the_error_says_what_runs(world):
    with pytest.raises(NothingCame, match=r"no payment waited .* within 0\.01 s; .* none runs"):
        world.tap("tok_visa_debit", timeout_s=0.01)
    with pytest.raises(NothingCame, match=r"payment mine did not wait for a tap within 0\.01 s; "):
        world.tap("tok_visa_debit", transaction_id="mine", timeout_s=0.01)


def test_the_journal_has_every_request_and_its_last(world):
    with pytest.raises(LookupError, match="no request"):
        _ = world.journal.last
    pay(world)
    world.client().get("/v3/nothing")

    assert [one["status"] for one in world.journal] == [200, 404]
    assert world.journal.last["path"] == "/v3/nothing"

    world.client(None).get("/v5/apikeys")
    assert len(world.journal) == 2
    assert [(one["path"], one["status"]) for one in world.unkeyed] == [("/v5/apikeys", 401)]


# --- worlds


def test_another_world_ends_with_the_one_beside_it_and_so_do_their_clients(kit):
    with kit.world() as world:
        other, client = world.new_world(), world.client("merchant_read_only")
        assert client.get("/v5/apikeys").status_code == 200
        assert client.post("/v3/payment", json={"amount": 1}).status_code == 401
        assert world.control("GET", "endpoints") == world.control("GET", "/endpoints")
        world.control("DELETE", "")
    # Closing twice does not matter.
    world.close()

    assert client.is_closed
    with pytest.raises(SandboxRefused, match="there is no world"):
        _ = other.clock


def test_a_saved_world_is_loaded_into_another_in_any_form_of_it(world, tmp_path):
    payment = pay(world)
    saved, file = world.save(), tmp_path / "world.json"
    file.write_bytes(saved)
    other = world.new_world(seed=9)
    client = other.client()

    for form in (saved, saved.decode(), json.loads(saved), file, str(file)):
        other.reset()
        other.load(form)

        path = f"/v1/transactions/{payment['transaction_id']}"
        assert client.get(path).json()["status"] == "captured"
    other.next("lost_card")
    lost = pay(other)
    other.webhooks.wait_for("transaction.sale", subject=lost["transaction_id"])


def test_webhooks_of_a_loaded_world_have_the_timestamps_that_its_switches_say(kit):
    dated = {"switches": {"webhooks.timestamp": "world"}, "clock": "2026-03-01T12:00:00Z"}
    with kit.world(**dated) as world, kit.world() as other:
        other.load(world.save())
        pay(other)

        other.webhooks.wait_for("transaction.sale")
        other.webhooks.expect_accepted()


def test_a_world_that_loads_another_does_not_send_its_webhooks_again(world):
    other = world.new_world()
    for _ in range(5):
        pay(world)
        other.load(world.save())
    world.webhooks.settle()
    other.webhooks.settle()

    assert {one.attempt for one in world.webhooks.received} == {1}


def test_a_retry_of_a_saved_world_comes_to_the_world_that_loads_it(kit):
    with kit.world(clock="2026-03-01T12:00:00Z") as world, kit.world() as other:
        world.webhooks.listen(["transaction.sale"])
        world.webhooks.respond(503)
        pay(world)
        other.load(world.save())

        other.advance("1m")

        assert [one.event_type for one in other.webhooks.received] == ["transaction.sale"]
        assert len(world.webhooks.received) == 1


def test_a_world_that_the_kit_saved_is_a_fixture_with_the_receiver_of_each_new_world(kit, tmp_path):
    file = tmp_path / "prepared.json"
    with kit.world() as prepared:
        file.write_bytes(prepared.save())
    with sandbox_server(Settings(fixture=str(file))) as server, server.world() as world:
        for _ in range(2):
            pay(world)
            world.webhooks.wait_for("transaction.sale")
            world.webhooks.expect_accepted()
            world.reset()


def test_a_world_lists_more_than_a_page_of_events(world):
    for _ in range(1_001):
        world.control("POST", "/messages", {"event_type": "location.created"})

    assert len(world.messages) == 1_001


def test_a_world_begins_as_its_options_say(kit):
    with kit.world(
        seed=7,
        clock="2026-03-01T12:00:00Z",
        fixture="busy",
        scenario="batch_partially_accepted",
        switches={"batch.settlement": "manual"},
        readings={"delete_answers": "resource"},
        invent={"merchants": 2},
    ) as world:
        assert (world.view["seed"], world.view["fixture"]) == (7, "busy")
        assert world.clock["now"] == "2026-03-01T12:00:00.000Z"
        assert world.switches()["batch.settlement"] == "manual"
        switched = world.switches({"batch.settlement": "auto"}, strict_headers=True)
        assert (switched["batch.settlement"], switched["strict_headers"]) == ("auto", True)
        assert world.view["readings"] == {"delete_answers": "resource"}
        assert world.readings()["delete_answers"] == "resource"
        assert world.readings(delete_answers=None)["delete_answers"] == "empty"
        assert world.scenario() is not None
