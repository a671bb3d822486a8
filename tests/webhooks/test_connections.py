"""Connections are used again, and one that the receiver has closed meanwhile fails nobody."""

from tests.webhooks.hooked import until
from tests.webhooks.misbehaving import close_unsaid, misbehaving
from tests.webhooks.receiving import Answer, receiving

MANY = 30


def test_a_receiver_that_closes_without_a_word_gets_everything_at_the_first_attempt(hooked):
    with misbehaving(close_unsaid) as receiver:
        endpoint = hooked.endpoint(receiver.url)
        ids = [hooked.emit() for _ in range(MANY)]
        deliveries = [hooked.tried(id, endpoint) for id in ids]

    assert [one["status"] for one in deliveries] == ["delivered"] * MANY
    assert [len(one["attempts"]) for one in deliveries] == [1] * MANY


def test_time_does_not_go_on_before_what_is_under_way_was_answered(hooked):
    with receiving(Answer(200, delay_s=0.2)) as receiver:
        endpoint = hooked.endpoint(receiver.url)
        id = hooked.emit()
        hooked.pass_by(days=1)
        delivery = until(lambda: hooked.delivery(id, endpoint))

    assert [one["at"] for one in delivery["attempts"]] == ["2026-03-01T12:00:00.000Z"]
    assert delivery["status"] == "delivered"
