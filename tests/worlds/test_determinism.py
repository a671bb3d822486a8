"""A reset gives the same world again, in which the same requests give the same bytes."""

from tests.driving import InProcess, Response
from tests.support.directory import supplied


def _story(world: InProcess) -> list[Response]:
    """Requests of every kind, good and bad."""
    made = world.create_key()
    id = made.json()["id"]
    return [
        made,
        world.get("/v5/apikeys", by="admin"),
        world.get(f"/v5/apikeys/{id}", by="merchant"),
        world.put(f"/v5/apikeys/{id}", {"status": "revoked"}, by="merchant"),
        world.put(f"/v5/apikeys/{id}", {"nam": "x"}, by="merchant"),
        world.delete(f"/v5/apikeys/{id}", by="merchant"),
        world.get(f"/v5/apikeys/{id}", by="merchant"),
        world.get(f"/v1/accounts/{world.account_id('merchant')}"),
        world.get("/v1/accounts/nowhere"),
        world.ask("PATCH", "/v5/apikeys", key="merchant"),
        world.get("/nowhere", by="merchant"),
        world.get("/v5/apikeys", by="revoked"),
        world.create_key(by="partner", account_id=world.account_id("merchant"), **supplied()),
    ]


def test_a_reset_gives_the_same_world_again_and_then_the_same_answers(sandbox):
    world = sandbox.add_world("one", seed=7)
    before = world.manage("GET", "").body
    told = _story(world)

    reset = world.manage("POST", "/reset")
    cleared = world.message_count(), world.look("requests")["total"]
    again = _story(world)

    assert (reset.status, reset.body) == (200, before)
    assert cleared == (0, 0)
    assert again == told
