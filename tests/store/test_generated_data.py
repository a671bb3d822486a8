"""Invented merchants: counts and shapes, never the words, which come from Faker's version."""

import json
import re
from typing import Any

import pytest
from click.testing import CliRunner

from sandbox.app import build
from sandbox.cli.main import main
from sandbox.settings import Settings
from tests.driving import InProcess, serving
from tests.processes import run

FROZEN = "2026-03-01T12:00:00.000Z"
STATES = re.compile(
    "A[LKZR]|C[AOT]|D[EC]|FL|GA|HI|I[DLNA]|K[SY]|LA|M[EDAINSOT]|N[EVHJMYCD]|O[HKR]|PA|RI|S[CD]"
    "|T[NX]|UT|V[TA]|W[AVIY]"
)
SIZES = ("merchants", "terminals_per_merchant", "locations_per_merchant")
MCCS = {"5411", "5812", "5814", "5942", "5999", "7011", "7512", "4121", "7230"}


@pytest.fixture
def server() -> InProcess:
    return InProcess(build(Settings()))


def add_world(server: InProcess, id: str, invent: Any, **more: Any) -> InProcess:
    body = {"id": id, "clock": FROZEN, "invent": invent} | more
    answer = server.control("POST", "/worlds", body)
    assert answer.status == 201, answer.body
    return InProcess(server.sandbox, world=id)


def listed(world: InProcess, plural: str, *, by: str = "psp") -> list[dict[str, Any]]:
    """All of a listing, page by page."""
    path = {"accounts": "/v1/accounts", "terminals": "/v2/terminals"}.get(plural, "/v1/locations")
    rows: list[dict[str, Any]] = []
    while True:
        answer = world.ask("GET", path, key=by, query=f"limit=200&offset={len(rows)}")
        assert answer.status == 200, answer.body
        page = answer.json()
        rows += page[plural]
        if not page[plural]:
            assert len(rows) == page["total"]
            return rows


def invented(world: InProcess, plural: str) -> list[dict[str, Any]]:
    """The records that are not of the fixture."""
    known = InProcess(world.sandbox)
    told = known.control("GET", f"/worlds/{world.world}").json()
    ids = {*told["accounts"].values()}
    owner = "id" if plural == "accounts" else "account_id"
    return [one for one in listed(world, plural) if one[owner] not in ids]


# --- counts -----------------------------------------------------------------------------------


def test_a_world_has_as_many_invented_records_as_were_asked_for_beside_its_cast(server):
    plain = server.control("POST", "/worlds", {"id": "much", "clock": FROZEN}).json()
    for sizes, counts in {
        (0,): (0, 0, 0),
        (1,): (1, 1, 1),
        (7,): (7, 7, 7),
        (3, 4): (3, 12, 3),
        (3, 1, 0): (3, 3, 0),
        (2, 0, 3): (2, 0, 6),
        (250, 2): (250, 500, 250),
    }.items():
        server.control("DELETE", "/worlds/much")

        world = add_world(server, "much", dict(zip(SIZES, sizes, strict=False)))

        found = [len(invented(world, plural)) for plural in ("accounts", "terminals", "locations")]
        assert tuple(found) == counts, sizes
        told = server.control("GET", "/worlds/much").json()
        assert (told["accounts"], told["keys"]) == (plain["accounts"], plain["keys"])


# --- shapes -----------------------------------------------------------------------------------


def test_invented_records_look_like_real_ones_and_fit_each_other(server):
    sizes = {"terminals_per_merchant": 15, "locations_per_merchant": 3}
    world = add_world(server, "shapes", {"merchants": 40, **sizes})
    partners = {world.account(name) for name in ("partner", "other_partner")}
    merchants = {one["id"]: one for one in invented(world, "accounts")}
    terminals = {one["terminal_id"]: one for one in invented(world, "terminals")}
    locations = invented(world, "locations")

    assert (len(merchants), len(terminals), len(locations)) == (40, 600, 120)
    for one in merchants.values():
        assert (one["type"], one["status"]) == ("merchant", "active")
        assert one["mcc"] in MCCS
        assert one["name"]
        assert one["description"]
        assert re.fullmatch(r"[0-9]{2}-[0-9]{7}", one["tax_id"])
        assert one["available_processor_configs"] == ["cfg-tsys-001"]
        assert one["parent_account_ids"][0] == world.account("psp")
        assert one["parent_account_ids"][1] in partners
        assert one["created_at"] == FROZEN
        assert (one["deleted_at"], one["updated_at"], one["organization_id"]) == (None, None, None)
        is_believable_address(one["address"])
    assert len({one["mcc"] for one in merchants.values()}) > 4
    for one in terminals.values():
        assert re.fullmatch(r"[0-9]{12}", one["mid"])
        assert re.fullmatch(r"[0-9]{8}", one["tid"])
        assert re.fullmatch(r"V[0-9]{7}", one["vid"])
        assert one["merchant_category_code"] == merchants[one["account_id"]]["mcc"]
        assert one["merchant_name"] == merchants[one["account_id"]]["name"]
        assert one["processor_config_id"] == "cfg-tsys-001"
        assert (one["currency_code"], one["country_code"]) == ("USD", "840")
        assert (one["bin"], one["store_number"]) == ("999991", "0001")
    everything = listed(world, "terminals")
    boards = {(one["processor_config_id"], one["mid"], one["tid"]) for one in everything}
    assert len(boards) == len(everything)
    for one in locations:
        assert re.fullmatch(r"[0-9]{10}", one["phone"])
        assert one["email"].endswith(".example")
        assert (one["country_code"], one["currency"]) == ("840", "USD")
        is_believable_address(one["address"])
        if one["terminal_id"] is not None:
            assert terminals[one["terminal_id"]]["account_id"] == one["account_id"]
    pointing = [one["terminal_id"] for one in locations if one["terminal_id"] is not None]
    assert len(pointing) == len(set(pointing)) == 120


def is_believable_address(address: dict[str, Any]) -> None:
    assert address["street_line1"]
    assert address["city"]
    assert STATES.fullmatch(address["state"])
    assert re.fullmatch(r"[0-9]{5}", address["zip"])
    assert address["country"] == "USA"


def test_invented_merchants_are_spread_over_the_partners_and_seen_by_their_own_alone(server):
    world = add_world(server, "spread", {"merchants": 20})
    all_ids = {one["id"] for one in invented(world, "accounts")}

    seen = {
        by: {one["id"] for one in listed(world, "accounts", by=by)} & all_ids
        for by in ("partner", "other_partner", "admin", "merchant")
    }

    assert [len(ids) for ids in seen.values()] == [10, 10, 0, 0]
    assert not seen["partner"] & seen["other_partner"]


def test_inventing_announces_nothing_and_is_in_no_journal(server):
    add_world(server, "quiet", {"merchants": 5})

    told = [
        server.control("GET", f"/worlds/quiet/{what}").json()["total"]
        for what in ("messages", "requests")
    ]

    assert told == [0, 0]


# --- the seed ---------------------------------------------------------------------------------


def state(world: InProcess) -> list[list[dict[str, Any]]]:
    return [listed(world, plural) for plural in ("accounts", "terminals", "locations")]


SOME = {"merchants": 12, "terminals_per_merchant": 2, "locations_per_merchant": 2}


def test_names_and_ids_follow_from_the_seed_however_much_is_invented(server):
    worlds = [add_world(server, f"w{n}", SOME, seed=seed) for n, seed in enumerate((7, 7, 8, -7))]
    few = invented(add_world(server, "few", {"merchants": 1}, seed=7), "accounts")

    first, *others = (invented(world, "accounts") for world in worlds)

    assert state(worlds[0]) == state(worlds[1])
    assert few[0] == first[-1]
    for other in others[1:]:
        assert [one["name"] for one in first] != [one["name"] for one in other]
        assert not {one["id"] for one in first} & {one["id"] for one in other}


def test_a_reset_brings_the_same_invention_back(server):
    world = add_world(server, "again", SOME)
    before = state(world)
    terminal = invented(world, "terminals")[0]["terminal_id"]
    assert world.ask("DELETE", f"/v2/terminals/{terminal}", key="psp").status == 204
    assert state(world) != before

    reset = server.control("POST", "/worlds/again/reset")

    assert reset.status == 200
    assert state(world) == before


# --- limits -----------------------------------------------------------------------------------


def test_an_invention_out_of_bounds_is_refused_and_makes_no_world(server):
    of_merchants = ({}, *({"merchants": bad} for bad in (-1, 10_001, 1.5, "3", True, None)))
    each = ("terminals_per_merchant", "locations_per_merchant")
    for invent, named in [
        *((one, "merchants") for one in of_merchants),
        *(({"merchants": 1, name: bad}, name) for name in each for bad in (1_001, -1)),
        ({"merchants": 51, "terminals_per_merchant": 1_000}, "50000"),
        ({"merchants": 10_000, "locations_per_merchant": 6}, "50000"),
        ({"merchants": 1, "partners": 2}, "partners"),
        ({"merchant": 1}, "merchant"),
        *((bad, "invent") for bad in (3, [3], "merchants=3")),
    ]:
        answer = server.control("POST", "/worlds", {"id": "never", "invent": invent})

        assert (answer.status, answer.json()["error"]) == (400, "validation_error"), invent
        assert named in json.dumps(answer.json()), invent
    assert server.control("GET", "/worlds/never").status == 404


def test_without_a_partner_merchants_belong_to_the_nearest_level(server):
    world = add_world(server, "bare", {"merchants": 2}, fixture="empty")

    merchants = [one for one in listed(world, "accounts", by="admin") if one["type"] == "merchant"]

    assert [one["parent_account_ids"] for one in merchants] == [[world.account("admin")]] * 2


def test_serve_refuses_in_plain_words_to_invent_where_no_account_can_have_merchants(tmp_path):
    words = {"cast": "shop", "type": "merchant", "name": "Shop", "description": "Shop"}
    shop = words | {"created_at": FROZEN}
    fixture = tmp_path / "shop.json"
    fixture.write_text(json.dumps({"accounts": {"1": shop}}), encoding="utf-8")

    done = run("serve", "--port", "0", "--fixture", str(fixture), "--invent", "merchants=1")

    assert done.returncode == 2, done.stderr
    assert b"Traceback" not in done.stderr


# --- the command line --------------------------------------------------------------


def test_serve_invents_merchants_beside_the_cast():
    with serving("--clock", FROZEN, "--invent", "merchants=3,terminals_per_merchant=2") as server:
        accounts = server.ask("GET", "/v1/accounts", key="psp").json()
        terminals = server.ask("GET", "/v2/terminals", key="psp").json()

    # Beside 11 accounts of the fixture's PSP and its 8 terminals.
    assert (accounts["total"], terminals["total"]) == (14, 14)


def test_serve_refuses_a_bad_invention_with_status_2_and_help():
    shape, bounds = "merchants=200", "merchants"
    for value, said in {
        **dict.fromkeys(("merchants=x", "merchants", "", "3", "merchants=3,"), shape),
        **dict.fromkeys(("merchants=-1", "merchants=10001", "shops=3"), bounds),
        "merchants=3,shops=3": "shops",
        "terminals_per_merchant=3": bounds,
        "merchants=51,terminals_per_merchant=1000": "50000",
    }.items():
        # There is no such fixture, so that nothing is served even if the invention is taken.
        command = ["serve", "--port", "0", "--fixture", "none", "--invent", value]

        result = CliRunner().invoke(main, command)

        assert result.exit_code == 2, value
        assert "--invent" in result.output
        assert said in result.output
        assert "Traceback" not in result.output
