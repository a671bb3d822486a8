"""Invented merchants: counts and shapes, never the words, which come from Faker's version."""

import re
from typing import Any

from tests.driving import NOW, InProcess, serving
from tests.support.directory import LISTINGS

STATES = (
    "A[LKZR]|C[AOT]|D[EC]|FL|GA|HI|I[DLNA]|K[SY]|LA|M[EDAINSOT]|N[EVHJMYCD]|O[HKR]|PA|RI|S[CD]"
    "|T[NX]|UT|V[TA]|W[AVIY]"
)
SIZES = ("merchants", "terminals_per_merchant", "locations_per_merchant")


def listed(world: InProcess, plural: str, *, by: str = "psp") -> list[dict[str, Any]]:
    return world.list_all(LISTINGS[plural], plural, by=by)


def invented(world: InProcess, plural: str) -> list[dict[str, Any]]:
    """The records that are not of the fixture."""
    ids = {*world.look(f"/worlds/{world.world}")["accounts"].values()}
    owner = "id" if plural == "accounts" else "account_id"
    return [one for one in listed(world, plural) if one[owner] not in ids]


# --- counts -----------------------------------------------------------------------------------


def test_a_world_has_as_many_invented_records_as_were_asked_for_beside_its_cast(sandbox):
    plain = sandbox.control("POST", "/worlds", {"id": "much", "clock": NOW}).json()
    for sizes, counts in {
        (0,): (0, 0, 0),
        (1,): (1, 1, 1),
        (7,): (7, 7, 7),
        (3, 4): (3, 12, 3),
        (3, 1, 0): (3, 3, 0),
        (2, 0, 3): (2, 0, 6),
        (250, 2): (250, 500, 250),
    }.items():
        sandbox.control("DELETE", "/worlds/much")

        world = sandbox.add_world("much", invent=dict(zip(SIZES, sizes, strict=False)))

        found = [len(invented(world, plural)) for plural in ("accounts", "terminals", "locations")]
        assert tuple(found) == counts, sizes
        told = sandbox.look("/worlds/much")
        assert (told["accounts"], told["keys"]) == (plain["accounts"], plain["keys"])


# --- shapes -----------------------------------------------------------------------------------


ADDRESS = {"street_line1": ".+", "city": ".+", "zip": "[0-9]{5}", "country": "USA"}
SHAPES = {
    "accounts": {
        "type": "merchant",
        "status": "active",
        "mcc": "5411|5812|5814|5942|5999|7011|7512|4121|7230",
        "name": ".+",
        "tax_id": "[0-9]{2}-[0-9]{7}",
        "created_at": re.escape(NOW),
    },
    "terminals": {
        "mid": "[0-9]{12}",
        "tid": "[0-9]{8}",
        "vid": "V[0-9]{7}",
        "processor_config_id": "cfg-tsys-001",
        "currency_code": "USD",
        "country_code": "840",
    },
    "locations": {
        "phone": "[0-9]{10}",
        "email": r".+\.example",
        "country_code": "840",
        "currency": "USD",
    },
}
"""How the fields of an invented record look."""


def misshapen(record: dict[str, Any], shapes: dict[str, str]) -> list[str]:
    """The fields that do not look so."""
    return [name for name, shape in shapes.items() if not re.fullmatch(shape, str(record[name]))]


def test_invented_records_look_like_real_ones_and_fit_each_other(sandbox):
    sizes = {"terminals_per_merchant": 15, "locations_per_merchant": 3}
    world = sandbox.add_world("shapes", invent={"merchants": 40, **sizes})
    partners = {world.account_id(name) for name in ("partner", "other_partner")}
    made = {plural: invented(world, plural) for plural in SHAPES}
    merchants = {one["id"]: one for one in made["accounts"]}
    terminals = {one["terminal_id"]: one for one in made["terminals"]}

    for plural, shapes in SHAPES.items():
        assert [bad for one in made[plural] if (bad := misshapen(one, shapes))] == [], plural
    for one in (*made["accounts"], *made["locations"]):
        assert misshapen(one["address"], ADDRESS | {"state": STATES}) == []
    for one in merchants.values():
        assert one["available_processor_configs"] == ["cfg-tsys-001"]
        assert one["parent_account_ids"][0] == world.account_id("psp")
        assert one["parent_account_ids"][1] in partners
    assert len({one["mcc"] for one in merchants.values()}) > 4
    for one in terminals.values():
        assert one["merchant_category_code"] == merchants[one["account_id"]]["mcc"]
        assert one["merchant_name"] == merchants[one["account_id"]]["name"]
    everything = listed(world, "terminals")
    boards = {(one["processor_config_id"], one["mid"], one["tid"]) for one in everything}
    assert len(boards) == len(everything)
    pointing = {
        one["terminal_id"]: one["account_id"] for one in made["locations"] if one["terminal_id"]
    }
    assert len(pointing) == 120
    assert all(terminals[id]["account_id"] == owner for id, owner in pointing.items())


def test_invented_merchants_are_unannounced_and_seen_by_their_partners_only(sandbox):
    world = sandbox.add_world("spread", invent={"merchants": 20})
    assert world.message_count() == 0
    all_ids = {one["id"] for one in invented(world, "accounts")}

    seen = {
        by: {one["id"] for one in listed(world, "accounts", by=by)} & all_ids
        for by in ("partner", "other_partner", "admin", "merchant")
    }

    assert [len(ids) for ids in seen.values()] == [10, 10, 0, 0]
    assert not seen["partner"] & seen["other_partner"]


# --- the seed ---------------------------------------------------------------------------------


def state(world: InProcess) -> list[list[dict[str, Any]]]:
    return [listed(world, plural) for plural in ("accounts", "terminals", "locations")]


SOME = {"merchants": 12, "terminals_per_merchant": 2, "locations_per_merchant": 2}


def test_names_and_ids_follow_from_the_seed_however_much_is_invented(sandbox):
    worlds = [
        sandbox.add_world(f"w{n}", invent=SOME, seed=seed) for n, seed in enumerate((7, 7, 8, -7))
    ]
    few = invented(sandbox.add_world("few", invent={"merchants": 1}, seed=7), "accounts")

    first, *others = (invented(world, "accounts") for world in worlds)

    assert state(worlds[0]) == state(worlds[1])
    assert few[0] == first[-1]
    for other in others[1:]:
        assert [one["name"] for one in first] != [one["name"] for one in other]
        assert not {one["id"] for one in first} & {one["id"] for one in other}


def test_a_reset_restores_the_same_generated_data(sandbox):
    world = sandbox.add_world("again", invent=SOME)
    before = state(world)
    terminal = invented(world, "terminals")[0]["terminal_id"]
    assert world.delete(f"/v2/terminals/{terminal}", by="psp").status == 204
    assert state(world) != before

    world.reset()

    assert state(world) == before


# --- limits -----------------------------------------------------------------------------------


def test_without_a_partner_merchants_belong_to_the_nearest_level(sandbox):
    world = sandbox.add_world("bare", invent={"merchants": 2}, fixture="empty")

    merchants = [one for one in listed(world, "accounts", by="admin") if one["type"] == "merchant"]

    assert [one["parent_account_ids"] for one in merchants] == [[world.account_id("admin")]] * 2


# --- the command line --------------------------------------------------------------


def test_serve_invents_merchants_beside_the_cast():
    with serving("--clock", NOW, "--invent", "merchants=3,terminals_per_merchant=2") as server:
        accounts = server.ask("GET", "/v1/accounts", key="psp").json()
        terminals = server.ask("GET", "/v2/terminals", key="psp").json()

    # Beside 11 accounts of the fixture's PSP and its 8 terminals.
    assert (accounts["total"], terminals["total"]) == (14, 14)
