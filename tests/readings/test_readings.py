"""Readings: every value of each, and who chooses it."""

import pytest

from sandbox.domain.profile import Profile, parse_profile
from sandbox.domain.readings import READINGS
from tests.driving import fresh

DEFAULTS = {id: reading.default for id, reading in READINGS.items()}


@pytest.mark.proves("assumed D35-type")
def test_a_stored_payment_has_the_type_of_its_first_operation(sandbox):
    sandbox.choose(stored_transaction_type="first")
    sale = sandbox.sold()

    answered = sandbox.acted(sale, "refund", amount=400)

    assert answered["transaction_type"] == "refund"
    assert sandbox.read(sale)["transaction_type"] == "sale"
    assert sandbox.search("transaction_type=sale")["total"] == 1


@pytest.mark.proves("assumed D35-refund")
def test_a_refund_before_settlement_is_refused(sandbox):
    sandbox.choose(refund_before_settlement="refused")
    sale = sandbox.sold()

    assert sandbox.act(sale, "refund", amount=400).status == 400

    assert sandbox.read(sale) == sale
    sandbox.settled(sale["batch_id"])
    sandbox.acted(sale, "refund", amount=400)


def _limited(sandbox, limit):
    return sandbox.get("/v2/transactions", by="psp", query=f"limit={limit}")


@pytest.mark.proves("assumed D35-limit")
@pytest.mark.parametrize(
    ("value", "status"), [("refused", 400), ("clamped", 200), ("unprocessable", 422)]
)
def test_a_limit_above_the_maximum_is_refused_or_counts_as_the_maximum(sandbox, value, status):
    sandbox.choose(limit_above_maximum=value)

    for limit in ("201", "9" * 30):
        answer = _limited(sandbox, limit)
        assert answer.status == status, answer.body
        if status == 200:
            assert answer.json()["limit"] == 200
    for limit in ("0", "x", "-1"):
        assert _limited(sandbox, limit).status == 400


@pytest.mark.proves("assumed D35-delete")
def test_a_key_may_not_delete_itself(sandbox):
    sandbox.choose(key_deletes_itself="refused")
    own, other = sandbox.key_id("partner"), sandbox.key_id("merchant")

    assert sandbox.delete(f"/v5/apikeys/{other}", by="partner").status == 200
    answer = sandbox.delete(f"/v5/apikeys/{own}", by="partner")
    assert sandbox.last_decision(answer) == ("rule", "400", "assumed D35-delete")


@pytest.mark.proves("assumed D35-all")
def test_all_is_granted_by_a_psp_alone(sandbox):
    sandbox.choose(all_granted_by="psp")

    assert sandbox.create_key(by="psp", permissions=["all"]).status == 201
    assert sandbox.create_key(by="partner", permissions=["all"]).status == 403
    assert sandbox.create_key(by="partner").status == 201


@pytest.mark.proves("assumed D35-plaintext")
def test_answers_to_changes_hide_the_plaintext_of_a_retrievable_key(sandbox):
    sandbox.choose(key_after_a_change="hidden")
    plaintext = sandbox.key("retrievable")
    path = f"/v5/apikeys/{sandbox.key_id('retrievable')}"

    changed = sandbox.put(path, {"name": "other"}, by="psp").json()
    read_again = sandbox.get(path, by="psp").json()
    deleted = sandbox.delete(path, by="psp").json()

    assert read_again["key"] == plaintext
    assert changed["key"] is deleted["key"] is None


# --- who chooses ------------------------------------------------------------------------------


@pytest.mark.proves("assumed D35")
def test_the_world_chooses_before_the_profile_and_null_returns_to_the_profile():
    sandbox = fresh(profile=Profile(readings={"key_deletes_itself": "refused"}))

    of_profile = sandbox.look("readings")
    own = sandbox.choose(key_deletes_itself="allowed", stored_transaction_type="first")
    sandbox.reset()
    kept = sandbox.look("readings")

    world = sandbox.look("/worlds/default")
    chosen = {"key_deletes_itself": "allowed", "stored_transaction_type": "first"}
    assert world["readings"] == chosen
    assert of_profile == DEFAULTS | {"key_deletes_itself": "refused"}
    assert own == kept == DEFAULTS | {"stored_transaction_type": "first"}
    assert sandbox.choose(key_deletes_itself=None, stored_transaction_type=None) == of_profile


@pytest.mark.proves("assumed D35")
def test_worlds_choose_apart_and_snapshots_keep_the_choice(sandbox):
    mine = sandbox.add_world("mine", readings={"stored_transaction_type": "first"})
    saved = mine.saved()
    mine.choose(stored_transaction_type="last")

    mine.load(saved).expect(200)

    assert mine.look("readings") == DEFAULTS | {"stored_transaction_type": "first"}
    assert sandbox.look("readings") == DEFAULTS
    assert sandbox.look("/readings")["total"] == len(DEFAULTS)


def test_a_profile_has_no_unknown_reading_or_value():
    # tests/control/test_refused has those of worlds.
    for wanted in ({"key_deletes_itselve": "allowed"}, {"key_deletes_itself": "refuse"}):
        with pytest.raises(ValueError, match="readings"):
            parse_profile({"readings": wanted})
