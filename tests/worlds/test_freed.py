"""A sandbox that nobody holds is freed, whatever it did: no value keeps a world alive."""

import gc
import weakref

from tests.driving import fresh

SEARCHES = ("status=captured&min_amount=5", "search_term=476173", "card_brand=Visa")


def busy_sandbox() -> list[weakref.ref[object]]:
    """What is freed, once a sandbox that did a bit of everything is gone."""
    sandbox = fresh()
    worlds = sandbox.sandbox.worlds
    before = worlds.default
    for outcome in (None, "do_not_honor", "timed_out"):
        sandbox.pay(outcome=outcome)
    sandbox.act(sandbox.pay(operation="auth").json(), "capture")
    for query in SEARCHES:
        assert sandbox.get("/v2/transactions", query=query).status == 200
    # Attempts at it wait for a loop, which does not run.
    sandbox.add_endpoint()
    sandbox.pay()
    sandbox.load(sandbox.saved()).expect(200)
    assert sandbox.messages(offset=0)
    sandbox.pay()
    after = worlds.default
    return [weakref.ref(one) for one in (worlds, before, after, before.store, after.store)]


def test_a_sandbox_that_did_a_bit_of_everything_is_freed():
    held = busy_sandbox()

    gc.collect()

    assert all(one() is None for one in held)
