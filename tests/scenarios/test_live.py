"""Stories of the library do on a running server what `scenario check` says."""

from time import monotonic, sleep

import pytest

from tests.conftest import NOW
from tests.scenarios.live import WAIT_S, live, play_the_day_at_the_till, sale_that_waits


@pytest.mark.proves("assumed D39, D40")
def test_a_day_at_the_till_goes_as_its_examples_say():
    sooner = ("delay_ms = 5000", "delay_ms = 300"), ('after = "2s"', 'after = "100ms"')

    with live("day_at_the_till", *sooner) as till:
        play_the_day_at_the_till(till, time_out_s=0.3)


def test_a_batch_is_rejected_today_and_accepted_tomorrow():
    with live("batch_accepted_the_next_day", clock=NOW) as till:
        sale = till.sale().json()

        closed = till.close(sale["batch_id"])
        till.advance("1m")
        rejected = till.server.ask("GET", f"/v1/batches/{sale['batch_id']}", key="psp").json()
        till.advance("1d")
        again = till.close(sale["batch_id"])
        till.advance("1m")

        assert [one["status"] for one in (closed, rejected, again)] == [
            *("submitted", "rejected", "submitted")
        ]
        assert till.transaction(sale["transaction_id"])["status"] == "settled"


def test_a_key_is_revoked_while_a_card_is_awaited():
    with live("key_revoked_in_flight", clock=NOW) as till:
        waiting = sale_that_waits(till)
        end = monotonic() + WAIT_S
        while not (taps := till.server.control("GET", "/worlds/default/taps").json()["taps"]):
            assert monotonic() < end
            sleep(0.02)
        id = taps[0]["transaction_id"]
        till.advance("20s")
        till.server.control("POST", f"/worlds/default/taps/{id}", json={"card": "tok_visa_credit"})

        assert waiting.result(WAIT_S).status_code == 401
        assert till.sale(event_id="order-2").status_code == 401
        assert till.transaction(id)["status_reason"] == "payment_failed"
        till.advance("1m")
        assert till.sale(event_id="order-3").json()["status"] == "captured"
