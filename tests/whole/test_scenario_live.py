"""A story of the library by hand, on a running server whose processor takes five real seconds."""

from time import monotonic
from typing import Any

from sandbox import library
from tests.driving import serving
from tests.webhooks.receiving import receiving


def test_a_day_at_the_till_takes_its_five_seconds_and_goes_as_its_examples_say():
    world = "/worlds/default"
    with serving() as server, receiving() as receiver:
        server.control("POST", f"{world}/endpoints", json={"url": receiver.url})
        toml = library.scenario_text("day_at_the_till")
        assert server.control("PUT", f"{world}/scenario", json={"toml": toml}).status_code == 200

        def sale(**more: Any) -> dict[str, Any]:
            body = {"amount": 1000, "terminal_id": server.facts["terminals"]["merchant"]} | more
            answer = server.ask("POST", "/v3/payment", key="merchant", json=body)
            return dict(answer.json())

        def events_of(id: str, count: int) -> list[tuple[str, str]]:
            """The first webhooks about a payment, with their statuses, as they arrived."""

            def about(requests: Any) -> list[Any]:
                return [one for one in requests if one.json().get("transaction_id") == id]

            came = about(receiver.wait_until(lambda came: len(about(came)) >= count, 10))
            listed = server.control("GET", f"{world}/messages", params={"limit": 200}).json()
            types = {one["id"]: one["event_type"] for one in listed["messages"]}
            return [(types[one.id], one.json()["status"]) for one in came]

        assert sale()["status"] == "declined"

        before = monotonic()
        timed_out = sale(event_id="order-2")
        assert monotonic() - before >= 5
        assert (timed_out["status"], timed_out["status_reason"]) == ("error", "processor_timeout")
        id = timed_out["transaction_id"]
        assert events_of(id, 3) == [
            ("transaction.create", "pending"),
            ("transaction.sale", "error"),
            ("transaction.sale", "captured"),
        ]
        late = server.ask("GET", f"/v1/transactions/{id}", key="psp").json()
        assert (late["status"], late["additional_details"]["captured_amount"]) == ("captured", 1000)

        part = sale()
        assert part["status_reason"] == "partial_approval"
        assert part["additional_details"]["captured_amount"] == 600
        assert part["additional_details"]["remaining_amount"] == 400

        twice = events_of(sale()["transaction_id"], 3)
        assert [event.partition(".")[2] for event, _ in twice] == ["create", "sale", "sale"]
        mixed = events_of(sale()["transaction_id"], 2)
        assert [event.partition(".")[2] for event, _ in mixed] == ["sale", "create"]
