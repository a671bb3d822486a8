"""An event_id that a client sent is never drawn again for another attempt. Assumed 2.6, 7.1."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.directory.making import set_clock, shown
from tests.driving import InProcess
from tests.payments import waits
from tests.support.payments import act, acted, ask, held, pay, prompted, read, refused, sold

Attempt = Callable[[InProcess, Any], Any]


def _edited(sandbox: InProcess, tx: Any) -> Any:
    body = {"status": "captured"}
    return shown(ask(sandbox, "PUT", f"/v1/transactions/{tx['transaction_id']}", body))


def _expired(sandbox: InProcess, tx: Any) -> Any:
    set_clock(sandbox, "2026-04-01T12:00:00.000Z")
    after = read(sandbox, tx)
    assert after["status"] == "canceled"
    return after


def _failed_by_rule(sandbox: InProcess, tx: Any) -> Any:
    refused(sandbox, act(sandbox, tx, "capture"), 400, "invalid_capture_sequence")
    return read(sandbox, tx)


def _confirmed(sandbox: InProcess, tx: Any) -> Any:
    return acted(sandbox, tx, "confirm", confirm=True)


ATTEMPTS: dict[str, tuple[Callable[[InProcess], Any], Attempt]] = {
    "a sale": (lambda sandbox: None, lambda sandbox, tx: sold(sandbox)),
    "an authorization": (lambda sandbox: None, lambda sandbox, tx: held(sandbox)),
    "a declined sale": (
        lambda sandbox: None,
        lambda sandbox, tx: shown(pay(sandbox, outcome="do_not_honor")),
    ),
    "a capture": (held, lambda sandbox, tx: acted(sandbox, tx, "capture")),
    "an increment": (held, lambda sandbox, tx: acted(sandbox, tx, "increment", amount=100)),
    "a refund": (sold, lambda sandbox, tx: acted(sandbox, tx, "refund", amount=10)),
    "a confirmation": (prompted, _confirmed),
    "a failure by a rule": (sold, _failed_by_rule),
    "an expired authorization": (held, _expired),
    "an expired surcharge prompt": (prompted, _expired),
    "a passthrough edit": (
        lambda sandbox: shown(pay(sandbox, at="passthrough_merchant")),
        _edited,
    ),
}


def story(sandbox: InProcess, name: str, event_id: str) -> tuple[Any, str]:
    """From a fresh world: a sale of this event_id, then the attempt, which draws its own."""
    answer = sandbox.control("POST", f"/worlds/{sandbox.world}/reset")
    assert answer.status == 200
    before, attempt = ATTEMPTS[name]
    tx = before(sandbox)
    at = "passthrough_merchant" if name == "a passthrough edit" else "merchant"
    first = shown(pay(sandbox, event_id=event_id, at=at))

    after = attempt(sandbox, tx)

    return first, after["history"][-1]["event_id"]


@pytest.mark.proves("assumed 2.6, M11, 7.1-ids")
@pytest.mark.parametrize("name", ATTEMPTS)
def test_one_that_a_client_took_is_skipped(sandbox, name):
    _, drawn = story(sandbox, name, "somebody's own")

    first, other = story(sandbox, name, drawn)

    assert first["event_id"] == drawn
    assert other != drawn


@pytest.mark.parametrize("name", ["a sale", "a capture", "an expired authorization"])
def test_the_one_that_is_drawn_instead_is_the_same_each_time(sandbox, name):
    _, drawn = story(sandbox, name, "somebody's own")

    others = {story(sandbox, name, drawn)[1] for _ in range(2)}

    assert len(others) == 1


def test_one_that_an_attempt_under_way_has_is_skipped_too(sandbox):
    def sold_meanwhile(event_id: str) -> str:
        assert sandbox.control("POST", f"/worlds/{sandbox.world}/reset").status == 200
        tx = held(sandbox)
        waits.delay(sandbox)
        capture = waits.action(tx["transaction_id"], "capture", event_id=event_id)

        captured, sale = waits.meanwhile(sandbox, capture, waits.sale(sandbox))

        assert shown(captured)["event_id"] == event_id
        return shown(sale)["event_id"]

    drawn = sold_meanwhile("somebody's own")

    assert sold_meanwhile(drawn) != drawn


def test_another_merchant_may_have_the_same_one(sandbox):
    """Within a merchant it is unique (assumed 2.6), so that nothing has to be skipped."""
    sandbox.control("POST", f"/worlds/{sandbox.world}/reset")
    sold(sandbox, event_id="theirs", at="second_merchant")
    drawn = sold(sandbox)["event_id"]
    sandbox.control("POST", f"/worlds/{sandbox.world}/reset")
    sold(sandbox, event_id=drawn, at="second_merchant")

    assert sold(sandbox)["event_id"] == drawn
