"""Servers that share the worlds of one PostgreSQL database, for those who run and use them."""

import asyncio
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from sandbox import library
from sandbox.control.routes import CONTROL
from tests.driving import NOW, until
from tests.processes import run
from tests.servers.driving import WAITS_S, payments, serving, works
from tests.servers.postgres import Postgres
from tests.state.remote import Remote
from tests.state.saved_worlds import SavedWorld, refused
from tests.support.open_requests import desk_opens
from tests.webhooks.receiving import receiving

SILENT_S = 5.0
QUERIES = {"find": {"q": "zanzibar@quokka"}}


@pytest.fixture(scope="module")
def doors(
    postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[SavedWorld, SavedWorld]]:
    """Two servers for all tests that end none; the first has the world `default`."""
    url, folder = postgres.new_database(), tmp_path_factory.mktemp("doors")
    with serving(url, folder, "one") as one, serving(url, folder, "two") as other:
        yield one, other


# --- one world, several doors -----------------------------------------------------------------


@pytest.mark.proves("assumed D25-servers")
def test_a_payment_is_made_through_either_and_read_through_the_other(doors):
    one, other = doors

    paid = [server.pay() for server in (one, other, one)]

    made = {answer.json()["transaction_id"] for answer in paid}
    assert made <= payments(one) == payments(other)
    # Balancers learn from it.
    assert [answer.headers.get("x-sandbox-server") for answer in paid] == [None, "one", None]
    assert [len(answer.headers.get_list("date")) for answer in paid] == [1, 1, 1]


def test_a_world_belongs_to_its_first_server_and_is_found_from_all(doors):
    one, other = doors
    made = other.control("POST", "/worlds", json={"id": "mine", "seed": 7}).json()

    key = made["keys"]["merchant"]["key"]
    sale = {"amount": 5, "terminal_id": made["terminals"]["merchant"]}
    paid = one.ask("POST", "/v3/payment", key=key, json=sale)

    assert (paid.status_code, paid.headers["x-sandbox-server"]) == (200, "two")
    listed = one.control("GET", "/worlds").json()
    assert [world["id"] for world in listed["worlds"]] == ["default", "mine"]
    assert listed["worlds"][1] | {"clock": 0, "endpoints": []} == made | {"clock": 0}
    again = one.control("POST", "/worlds", json={"id": "mine"})
    assert (again.status_code, again.json()["error"]) == (409, "world_taken")
    assert again.json()["message"] == "a world 'mine' already exists"
    found = one.control("GET", "/find", params={"q": paid.json()["transaction_id"]}).json()
    assert [thing["world"] for thing in found["found"]] == ["mine"]
    servers = one.control("GET", "/servers").json()["servers"]
    assert {each["name"]: each["worlds"] for each in servers} == {"one": 1, "two": 1}
    # A key that a client brings belongs to one world on all servers.
    brought = {"key": f"svc_uat_{'a' * 12}_{'B' * 32}", "always_retrievable": True}
    body = {"name": "brought", "permissions": ["locations:read"]} | brought
    bring, again = (
        one.ask("POST", "/v5/apikeys", key=by, json=body)
        for by in (made["keys"]["partner"]["key"], "partner")
    )
    assert (bring.status_code, again.status_code) == (201, 400), bring.text
    assert "is already used" in again.text
    assert one.control("DELETE", "/worlds/mine").status_code == 204
    again = one.ask("POST", "/v5/apikeys", key="partner", json=body)
    assert again.status_code == 201, again.text


def test_results_from_another_server_are_marked_as_partial(doors):
    one, other = doors
    other.control("POST", "/worlds", json={"id": "busy", "fixture": "busy"})

    found = one.control("GET", "/find", params={"q": "5556"}).json()

    other.control("DELETE", "/worlds/busy")
    assert (len(found["found"]), found["more"]) == (50, True)


def test_a_stream_a_tap_and_a_wait_go_through_a_server_that_has_no_world(doors):
    world = Remote(doors[1])
    desk_opens(world)
    opened = threading.Event()

    def listen() -> str:
        path = world.server.facts["control_url"] + "/worlds/default/stream"
        with httpx2.stream("GET", path, params={"kinds": "message"}, timeout=20) as stream:
            opened.set()
            return next(line for line in stream.iter_lines() if "transaction.sale" in line)

    with ThreadPoolExecutor(2) as threads:
        listening = threads.submit(listen)
        assert opened.wait(WAITS_S)
        paying = threads.submit(world.paid)
        (waiting,) = until(lambda: world.look("taps")["taps"])
        tap = f"/taps/{waiting['transaction_id']}"
        world.manage("POST", tap, {"card": "tok_amex"}).expect(200)

        assert paying.result(WAITS_S)["card_brand"] == "Amex"
        assert waiting["transaction_id"] in listening.result(WAITS_S)
    world.manage("DELETE", "/scenario")


@pytest.mark.proves("assumed D25-teams, D25-servers")
def test_a_team_finds_no_trace_of_others_on_any_server(url: str, tmp_path: Path):
    secret = "a-token-of-the-operator"
    options = ("--shared", "--token", secret, "--known-keys")
    as_operator = {"authorization": f"Bearer {secret}"}
    with (
        serving(url, tmp_path, "one", *options) as one,
        serving(url, tmp_path, "two", *options) as other,
    ):

        def issued(team: str) -> tuple[str, dict[str, str]]:
            body = {"team": team}
            made = other.control("POST", "/tokens", json=body, headers=as_operator).json()
            return made["id"], {"authorization": f"Bearer {made['token']}"}

        def may(server: SavedWorld, headers: dict[str, str]) -> bool:
            return server.control("GET", "/worlds", headers=headers).status_code == 200

        (quokka, mobile), (_, web) = issued("quokka"), issued("web")
        until(lambda: all(may(server, by) for server in (one, other) for by in (mobile, web)))
        made = one.control("POST", "/worlds", json={"id": "zanzibar"}, headers=mobile)
        assert made.status_code == 201
        listed = other.control("GET", "/worlds", headers=mobile).json()["worlds"]
        assert [world["id"] for world in listed] == ["zanzibar@quokka"]
        for server in (one, other):
            assert server.control("GET", "/worlds/default", headers=mobile).status_code == 404
        # Those of a world are sent on in one way.
        of_worlds = {row.method: row for row in CONTROL if "{w}" in row.path}
        for row in (*of_worlds.values(), *(row for row in CONTROL if "{w}" not in row.path)):
            path = row.path.removeprefix("/_sandbox").replace("{id}", "x").replace("{name}", "x")
            if "{w}" in path:
                theirs, nobodys = (
                    other.control(row.method, path.replace("{w}", world), headers=web, json={})
                    for world in ("zanzibar@quokka", "zanzibaz@quokka")
                )
                assert theirs.status_code == nobodys.status_code == 404, row.name
                assert theirs.text.replace("zanzibar", "zanzibaz") == nobodys.text
            elif row.method == "GET" and row.name != "report.page":
                said = other.control("GET", path, headers=web, params=QUERIES.get(row.name))
                assert "zanzibar" not in said.text, row.name
                assert "quokka" not in said.text, row.name
        host = {"host": "sandbox.example"}
        begun = other.control("POST", "/session", json={"token": secret}, headers=host)
        signed_in = host | {"cookie": begun.headers["set-cookie"].partition(";")[0]}
        listed = other.control("GET", "/worlds?shape=row", headers=signed_in).json()["worlds"]
        servers = {world["id"]: world["server"] for world in listed}
        assert servers == {"default": "one", "zanzibar@quokka": "one"}
        gone = one.control("DELETE", f"/tokens/{quokka}", headers=as_operator)
        assert gone.status_code == 204
        until(lambda: not may(one, mobile) and not may(other, mobile))
        assert may(one, web)


@pytest.mark.proves("assumed D25-session")
def test_a_session_ends_when_the_operator_has_another_token(url: str, tmp_path: Path):
    old, new = "a-token-of-the-operator", "another-of-the-operator"
    cookie, answers = "", []
    for token in (old, old, new):
        with serving(url, tmp_path, "one", "--shared", "--token", token) as server:
            sent = {"cookie": f"uat_sandbox_{server.port}={cookie}"}
            answers.append(server.control("GET", "/worlds", headers=sent).status_code)
            begun = server.control("POST", "/session", json={"token": token})
            cookie = cookie or begun.headers["set-cookie"].partition("=")[2].partition(";")[0]
    assert answers == [401, 200, 401]


# --- servers that come and go -----------------------------------------------------------------


@pytest.mark.proves("assumed D25-servers")
def test_a_killed_server_is_replaced_and_retries_continue_without_a_request(two):
    one, other = two
    with receiving() as receiver:
        receiver.behave(lambda received: 500 if received.number == 0 else 200)
        one.control("PUT", "/worlds/default/switches", json={"webhooks.time_scale": 0.0001})
        one.control("POST", "/worlds/default/endpoints", json={"url": receiver.url})
        until(lambda: one.control("PUT", "/worlds/default/clock", json={"rate": 1}).is_success)
        made = one.pay().json()["transaction_id"]

        one.kill()

        receiver.wait_for(2)
    until(lambda: works(other), within_s=SILENT_S + 2)
    assert made in payments(other)


def test_a_world_that_many_requests_want_is_taken_over_once(two):
    one, other = two
    key, body = one.key("merchant"), one.sale()

    async def ask_on() -> list[httpx2.Response]:
        ended = asyncio.get_running_loop().run_in_executor(None, one.end)
        headers = {"x-service-apikey": key}
        async with httpx2.AsyncClient(headers=headers, timeout=WAITS_S) as http:
            asked = []
            # They come whether or not the ones before are answered.
            while not ended.done():
                asked.append(asyncio.ensure_future(http.post(f"{other.url}/v3/payment", json=body)))
                await asyncio.sleep(0.001)
            await ended
            return await asyncio.gather(*asked)

    answers = asyncio.run(ask_on())

    assert {answer.status_code for answer in answers} == {200}
    assert {answer.json()["transaction_id"] for answer in answers} == payments(other)
    came = [line["message"] for line in other.said() if "is here now" in line["message"]]
    assert came == ["the world 'default' is here now"]


def test_a_world_that_no_server_has_is_listed_as_before_and_found(url: str, tmp_path: Path):
    def listed(server: SavedWorld) -> list[list[dict[str, object]]]:
        shapes = ({"shape": "row"}, {"shape": "full"})
        return [server.control("GET", "/worlds", params=one).json()["worlds"][1:] for one in shapes]

    with serving(url, tmp_path, "one") as one:
        body = {"name": "Kept", "seed": 3, "clock": "2026-03-01T12:00:00Z"}
        body |= {"readings": {"duplicate_event_id": "replay"}, "scenario": "rate_limited"}
        for id in ("kept", "sought"):
            assert one.control("POST", "/worlds", json=body | {"id": id}).status_code == 201
        rows, full = listed(one)
    with serving(url, tmp_path, "two") as two:
        assert listed(two) == [[row | {"server": None} for row in rows], full]
        # A search in one world takes over that one alone, however many there are.
        query = {"q": "merchant", "world": "sought"}
        assert two.control("GET", "/find", params=query).json()["found"]
        assert [row["server"] for row in listed(two)[0]] == [None, "two"]


def test_a_world_of_no_server_is_listed_with_the_cast_of_its_fixture(url: str, tmp_path: Path):
    document = json.loads((library.folder("fixtures") / "demo.json").read_text())
    (merchant,) = [one for one in document["accounts"].values() if one["cast"] == "merchant"]
    document["accounts"]["100"] = merchant | {"cast": "corner_cafe"}
    # A bundled fixture has this name too.
    fixture = tmp_path / "demo.json"
    fixture.write_text(json.dumps(document))
    with serving(url, tmp_path, "one", "--fixture", str(fixture)) as one:
        one.control("POST", "/worlds", json={"id": "kept", "clock": NOW})
        before = one.control("GET", "/worlds").json()["worlds"][1]

    with serving(url, tmp_path, "two", "--fixture", str(fixture)) as two:
        after = two.control("GET", "/worlds").json()["worlds"][1]

    assert after == before
    assert "corner_cafe" in after["accounts"]


def test_a_world_is_unused_while_servers_run_and_none_of_them_has_it(
    url: str, tmp_path: Path, postgres: Postgres
):
    options = ("--worlds-unused-after-s", "60")

    def age(*columns: str) -> None:
        for table, column in (one.split(".") for one in columns):
            aged = f"UPDATE uat_sandbox.{table} SET {column} = now() - interval '1 hour'"
            postgres.asked(url, aged)

    def listed(server: SavedWorld) -> list[str]:
        until(lambda: postgres.asked(url, "SELECT count(*) FROM uat_sandbox.sessions") == "1")
        worlds = server.control("GET", "/worlds", params={"shape": "row"}).json()["worlds"]
        return [world["id"] for world in worlds]

    with serving(url, tmp_path, "one", *options) as one:
        one.control("POST", "/worlds", json={"id": "read"})
        with serving(url, tmp_path, "two", *options) as two:
            # As after an hour in which it was only read.
            age("worlds.touched_at", "sessions.started_at")
            one.kill()
            assert listed(two) == ["default", "read"]
    age("worlds.touched_at")
    with serving(url, tmp_path, "three", *options) as three:
        assert listed(three) == ["default", "read"]
        age("worlds.touched_at", "sessions.started_at")
        until(lambda: listed(three) == ["default"])
    leftovers = "SELECT count(*) FROM uat_sandbox.brought_keys"
    postgres.asked(url, "INSERT INTO uat_sandbox.brought_keys VALUES ('a', 'b', '2026-01-01')")
    with serving(url, tmp_path, "four", "--worlds-unused-after-s", "inf"):
        until(lambda: postgres.asked(url, leftovers) == "0")


# --- what is refused --------------------------------------------------------------------------


def test_an_id_that_is_taken_is_refused_as_taken_at_the_limit_too(url: str, tmp_path: Path):
    with serving(url, tmp_path, "one", "--worlds-max", "2") as one:
        made = [one.control("POST", "/worlds", json={"id": id}) for id in ("mine", "mine", "new")]

    errors = [answer.json().get("error") for answer in made]
    assert errors == [None, "world_taken", "too_many_worlds"]


def test_a_database_that_cannot_be_used_is_refused_in_a_sentence(url: str, postgres: Postgres):
    name = url.rpartition("/")[2]
    postgres.asked(url, f"CREATE ROLE small_{name} LOGIN")
    here = f"127.0.0.1:{postgres.port}"
    for part, why in (
        ("postgres:secret@127.0.0.1:1/none", "PostgreSQL at 127.0.0.1:1/none cannot be reached"),
        ("postgres:secret@127.0.0.1:port/none", "127.0.0.1:port/none cannot be used: its URL"),
        ("postgres:secret@[::1/none", "cannot be used: its URL cannot be read"),
        ("postgres:secret/1@127.0.0.1/none", "PostgreSQL cannot be used: its URL cannot be read"),
        (f"postgres:secret@{here}/none", 'cannot be used: database "none" does not exist'),
        (f"postgres:secret@{here}/{name}?sslmode=silly", "cannot be used: `sslmode` parameter"),
        (f"postgres:secret@{here}/{name}?silly=1", "cannot be used: unrecognized configuration"),
        (f"small_{name}@{here}/{name}", "cannot be used: permission denied"),
    ):
        said = refused(f"postgresql://{part}")

        assert why in said, part
        assert (said.count("\n"), "secret" in said) == (1, False), said
    postgres.asked(url, "CREATE SCHEMA uat_sandbox")
    assert "another program created its schema" in refused(url)


def test_settings_that_cannot_be_shared_are_refused(url: str, tmp_path: Path, postgres: Postgres):
    assert "need the same token" in refused(url, "--host", "0.0.0.0")
    assert "speak plain HTTP" in refused(url, "--tls")
    with serving(url, tmp_path, "one"):
        said = refused(url, "--seed", "2")
    assert "its servers have --seed '1', and this one '2'" in said
    address = ("--advertise", "http://sandbox:8080")
    with serving(url, tmp_path, "two", *address):
        postgres.asked(url, "UPDATE uat_sandbox.sessions SET machine = 'box-2'")
        said = refused(url, *address)
    assert "the server 'two' on box-2 also has the address http://sandbox:8080; give" in said
    for version in ("2", "99"):
        set_version = f"UPDATE uat_sandbox.meta SET value = '{version}' WHERE name = 'schema'"
        postgres.asked(url, set_version)

        assert f"tables have version {version}, and this server knows version 3" in refused(url)


def test_a_world_of_a_later_version_waits_for_a_server_of_that_version(
    url: str, tmp_path: Path, postgres: Postgres
):
    with serving(url, tmp_path, "one") as one:
        one.control("POST", "/worlds", json={"id": "later"})
        key = one.control("POST", "/worlds", json={"id": "mine"}).json()["keys"]["merchant"]["key"]
    # One of that version had `default` as well.
    postgres.asked(url, "UPDATE uat_sandbox.worlds SET format = 99 WHERE id <> 'mine'")
    with serving(url, tmp_path, "two") as two:
        for id in ("later", "default"):
            answer = two.control("GET", f"/worlds/{id}")

            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert "written by a later version" in answer.json()["message"]
        assert two.ask("GET", "/v1/accounts", key="merchant").status_code == 503
        assert two.ask("GET", "/v1/accounts", key=key).status_code == 200


def test_worlds_are_converted_to_a_database_and_back(postgres, url: str, tmp_path: Path):
    state, edited = str(tmp_path / "state.db"), tmp_path / "edited.json"
    with serving(url, tmp_path, "one") as one:
        made = one.pay().json()["transaction_id"]
        used = run("world", "convert", url, state)
        assert (used.returncode, "is in use by the servers one" in used.stderr) == (2, True)
    assert json.loads(run("world", "convert", url, state, "--json").stdout)["worlds"] == ["default"]
    assert run("world", "convert", state, url + "_too").returncode == 2
    assert "it holds the worlds default" in run("world", "convert", state, url).stderr
    text = '{"file":{"1":{"program":"uat-sandbox","format":5}},"w.api_keys":{"1":{"_id":"k"}}}'
    edited.write_text(text)
    assert run("world", "convert", str(edited), postgres.new_database()).returncode == 0
    with serving(url, tmp_path, "two") as two:
        assert made in payments(two)
