"""The same seed and the same requests give the same bytes, and a reset gives them again."""

import re

import pytest

from sandbox.app import build
from sandbox.settings import Settings
from tests.driving import InProcess, Response
from tests.worlds.worlds import FROZEN, KEY, add_world, create, supplied, totals

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def _story(world: InProcess) -> list[Response]:
    """Requests of every kind, good and bad."""
    made = create(world)
    id = made.json()["id"]
    return [
        made,
        world.ask("GET", "/v5/apikeys", key="admin"),
        world.ask("GET", f"/v5/apikeys/{id}", key="merchant"),
        world.ask("PUT", f"/v5/apikeys/{id}", key="merchant", json_body={"status": "revoked"}),
        world.ask("PUT", f"/v5/apikeys/{id}", key="merchant", json_body={"nam": "x"}),
        world.ask("DELETE", f"/v5/apikeys/{id}", key="merchant"),
        world.ask("GET", f"/v5/apikeys/{id}", key="merchant"),
        world.ask("GET", f"/v1/accounts/{world.account('merchant')}", key="partner"),
        world.ask("GET", "/v1/accounts/nowhere", key="partner"),
        world.ask("PATCH", "/v5/apikeys", key="merchant"),
        world.ask("GET", "/nowhere", key="merchant"),
        world.ask("GET", "/v5/apikeys", key="revoked"),
        create(world, "partner", account_id=world.account("merchant"), **supplied(KEY)),
    ]


def _plaintexts(world: InProcess) -> set[str]:
    shown = world.control("GET", f"/worlds/{world.world}").json()
    return {one["key"] for one in shown["keys"].values()}


def _told(story: list[Response]) -> list[tuple[int, dict[str, str], str]]:
    """The story with all key material blotted out."""
    told = []
    for answer in story:
        text = re.sub(r"svc_uat_\w+|svc_[A-Za-z0-9]{32}", "KEY", answer.body.decode())
        text = re.sub(r'"key_last4":"\w{4}"', '"key_last4":"LAST"', text)
        told.append((answer.status, answer.headers, text))
    return told


def test_worlds_of_one_seed_answer_alike_except_for_key_material(sandbox):
    """Supplied keys are unique to a server, so that the second world is of a second server."""
    one = add_world(sandbox, "one", seed=7)
    second_server = InProcess(build(Settings()))
    add_world(second_server, "first", seed=99)
    other = add_world(second_server, "other", seed=7)

    mine, theirs = _story(one), _story(other)

    assert _told(mine) == _told(theirs)
    assert _plaintexts(one).isdisjoint(_plaintexts(other))


def test_one_world_of_two_servers_answers_alike_whatever_happens_in_others(sandbox):
    stories = []
    for server, noise in ((InProcess(build(Settings())), 0), (sandbox, 5)):
        world, noisy = add_world(server, "same", seed=7), add_world(server, "noisy", seed=7)
        for _ in range(noise):
            create(noisy)
            create(server)
            server.control("POST", "/worlds/noisy/reset")
        stories.append(_story(world))

    assert stories[0] == stories[1]


# --- reset ------------------------------------------------------------------------------------


def test_a_reset_gives_the_same_world_again_and_then_the_same_answers(sandbox):
    world = add_world(sandbox, "one", seed=7)
    before = world.control("GET", "/worlds/one").body
    told = _story(world)

    reset = world.control("POST", "/worlds/one/reset")
    cleared = totals(world)
    again = _story(world)

    assert (reset.status, reset.body) == (200, before)
    assert cleared == (0, 0)
    assert again == told


@pytest.mark.proves("assumed D25")
def test_a_reset_brings_back_keys_and_clock_and_leaves_the_switches(sandbox):
    world = add_world(sandbox, "one")
    made = create(world, permissions=["all"]).json()["key"]
    path = f"/v5/apikeys/{world.key_id('merchant')}"
    world.ask("PUT", path, key="partner", json_body={"status": "revoked"})
    world.control("PUT", "/worlds/one/switches", {"strict_headers": True})
    world.control("PUT", "/worlds/one/clock", {"now": "2030-01-01T00:00:00Z", "mode": "running"})

    shown = world.control("POST", "/worlds/one/reset").json()

    assert shown["clock"] == {"now": FROZEN, "mode": "frozen", "rate": 1.0}
    assert world.control("GET", "/worlds/one/switches").json()["strict_headers"] is True
    assert world.ask("GET", "/v5/apikeys", key=made).status == 401
    assert world.ask("GET", "/v5/apikeys", key="merchant").status == 200


# --- default ---------------------------------------------------------------------------------


def test_the_keys_of_default_are_fixed_whatever_the_seed():
    servers = [InProcess(build(Settings(seed=seed))) for seed in (1, 2)]

    keys = [server.control("GET", "/worlds/default").json()["keys"] for server in servers]

    plain = [{name: one["key"] for name, one in world.items()} for world in keys]
    assert plain[0] == plain[1]
    assert keys[0]["merchant"]["id"] != keys[1]["merchant"]["id"]
    # Users paste this key into their settings; changing it breaks them.
    assert plain[0]["merchant"] == "svc_uat_demomerchant_Rahy5R22dHat85afU6lKXIXOEWGwLG82"
