"""Servers that share the worlds of one PostgreSQL database, for those who run and use them."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from sandbox.control.routes import CONTROL
from tests.processes import run
from tests.servers.driving import WAITS_S, pay, payments, until, works
from tests.servers.postgres import Postgres
from tests.servers.serving import refused, serving
from tests.state.saved_worlds import SavedWorld
from tests.webhooks.receiving import receiving

SILENT_S = 5.0
SUITES = ("payments", "directory", "platform", "readings", "control", "webhooks", "worlds")
QUERIES = {"find": {"q": "zanzibar@quokka"}}
DIFFERS = {
    "test_create_app": "builds applications of its own",
    "test_metrics": "counts of the server go on from one test to the next",
    "test_coverage": "counts of the server go on from one test to the next",
    "test_the_same_world_gives_the_same_capture": "webhooks are sent meanwhile",
    "test_it_is_filtered_counted_and_read_in_pages": "webhooks are sent meanwhile",
    "test_a_scenario_registers_its_endpoints_and_they_stay": "webhooks are sent meanwhile",
    "test_what_cannot_be_asked_of_webhooks_is_refused": "webhooks are sent meanwhile",
    "test_without_a_server_a_closed_connection_is_raised": "asks an application without a server",
    "test_two_amounts_of_it_close_the_connection": "asks an application without a server",
    "test_a_world_needs_nothing": "numbers of worlds go on from one test to the next",
    "test_chaos_timing": "a request that is forwarded takes longer",
    "test_health_says_version_and_store": "one that shares worlds says more",
    "HEAD-/health": "a client of HTTP takes no body with HEAD",
    "test_the_log_says_each_kind_once_a_minute_in_one_line": "the log is that of another process",
}


@pytest.fixture
def two(url: str, tmp_path: Path) -> Iterator[tuple[SavedWorld, SavedWorld]]:
    """Two servers; the first has the world `default`."""
    with serving(url, tmp_path, "one") as one, serving(url, tmp_path, "two") as other:
        yield one, other


# --- one world, several doors -----------------------------------------------------------------


def test_the_suites_pass_on_a_server_that_has_no_world():
    folders = [f"tests/{name}" for name in SUITES]
    unless = " and ".join(f"not {name}" for name in DIFFERS if "/" not in name)
    command = [sys.executable, "-m", "pytest", *folders, "-n", "2", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "--tb=short", "-k", unless],
        env={**os.environ, "TESTED_SANDBOX": "elsewhere"},
        capture_output=True,
        text=True,
        check=False,
    )

    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR "))]
    assert [line for line in failed if not any(name in line for name in DIFFERS)] == [], (
        done.stdout[-3_000:]
    )
    assert " passed" in done.stdout.splitlines()[-1]


@pytest.mark.proves("assumed D25-servers")
def test_a_payment_is_made_through_either_and_read_through_the_other(two):
    one, other = two

    paid = [pay(server) for server in (one, other, one)]

    made = {answer.json()["transaction_id"] for answer in paid}
    assert made == payments(one) == payments(other)
    # Balancers learn from it.
    assert [answer.headers.get("x-sandbox-server") for answer in paid] == [None, "one", None]


def test_a_world_is_had_by_the_server_at_which_it_was_made_and_found_from_all(two):
    one, other = two
    made = other.control("POST", "/worlds", json={"id": "mine", "seed": 7}).json()

    key = made["keys"]["merchant"]["key"]
    paid = one.ask(
        "POST",
        "/v3/payment",
        key=None,
        headers={"x-service-apikey": key},
        json={"amount": 5, "terminal_id": made["terminals"]["merchant"]},
    )

    assert (paid.status_code, paid.headers["x-sandbox-server"]) == (200, "two")
    listed = one.control("GET", "/worlds").json()
    assert [world["id"] for world in listed["worlds"]] == ["default", "mine"]
    assert listed["worlds"][1] | {"clock": 0} == made | {"clock": 0}
    again = one.control("POST", "/worlds", json={"id": "mine"})
    assert (again.status_code, again.json()["error"]) == (409, "world_taken")
    found = one.control("GET", "/find", params={"q": paid.json()["transaction_id"]}).json()
    assert [thing["world"] for thing in found["found"]] == ["mine"]
    held = {
        each["name"]: each["worlds"] for each in one.control("GET", "/servers").json()["servers"]
    }
    assert held == {"one": 1, "two": 1}


def test_a_stream_a_tap_and_a_wait_go_through_a_server_that_has_no_world(two):
    _, other = two
    rule = {"name": "taps", "rule": [{"name": "tap", "then": {"tap": "wait"}}]}
    assert other.control("PUT", "/worlds/default/scenario", json=rule).status_code == 200
    told: list[str] = []
    opened = threading.Event()

    def listen() -> None:
        path = other.facts["control_url"] + "/worlds/default/stream"
        with httpx2.stream("GET", path, params={"kinds": "message"}, timeout=20) as stream:
            opened.set()
            for line in stream.iter_lines():
                told.append(line)
                if "transaction.sale" in line:
                    return

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    assert opened.wait(WAITS_S)
    answers: list[int] = []
    payer = threading.Thread(target=lambda: answers.append(pay(other).status_code), daemon=True)
    payer.start()

    def tapped() -> bool:
        waiting = other.control("GET", "/worlds/default/taps").json()["taps"]
        if not waiting:
            return False
        path = f"/worlds/default/taps/{waiting[0]['transaction_id']}"
        assert other.control("POST", path, json={"card": "tok_amex"}).is_success
        return True

    until(tapped)
    payer.join(WAITS_S)
    listener.join(WAITS_S)
    assert answers == [200]
    assert any("transaction.sale" in line for line in told)


def test_a_token_of_a_team_holds_at_all_servers_and_is_worthless_at_all_once_deleted(
    url: str, tmp_path: Path
):
    secret = "a-token-of-the-operator"
    options = ("--shared", "--token", secret, "--known-keys")
    as_operator = {"authorization": f"Bearer {secret}"}
    with (
        serving(url, tmp_path, "one", *options) as one,
        serving(url, tmp_path, "two", *options) as other,
    ):
        made = other.control("POST", "/tokens", json={"team": "mobile"}, headers=as_operator).json()
        as_team = {"authorization": f"Bearer {made['token']}"}

        def may(server: SavedWorld) -> bool:
            return server.control("GET", "/worlds", headers=as_team).status_code == 200

        until(lambda: may(one) and may(other))
        assert other.control("POST", "/worlds", json={}, headers=as_team).status_code == 201
        assert [
            w["id"] for w in one.control("GET", "/worlds", headers=as_team).json()["worlds"]
        ] == ["world-1@mobile"]
        assert one.control("GET", "/worlds/default", headers=as_team).status_code == 404
        assert other.control("GET", "/worlds/default", headers=as_team).status_code == 404
        gone = one.control("DELETE", f"/tokens/{made['id']}", headers=as_operator)
        assert gone.status_code == 204
        until(lambda: not may(one) and not may(other))


def test_a_key_that_a_client_brings_belongs_to_one_world_on_all_servers(two):
    one, other = two
    made = other.control("POST", "/worlds", json={"id": "mine", "seed": 7}).json()
    brought = f"svc_uat_{'a' * 12}_{'B' * 32}"
    body = {
        "name": "brought",
        "permissions": ["locations:read"],
        "always_retrievable": True,
        "key": brought,
    }

    def bring(key: str) -> httpx2.Response:
        headers = {"x-service-apikey": key}
        return one.ask("POST", "/v5/apikeys", headers=headers, json=body)

    answers = [bring(made["keys"]["partner"]["key"]), bring(one.key("partner"))]

    assert [answer.status_code for answer in answers] == [201, 400], answers[0].text
    assert "is used already" in answers[1].text


@pytest.mark.proves("assumed D25-teams, D25-servers")
def test_a_team_finds_no_trace_of_worlds_that_others_have_on_any_server(url: str, tmp_path: Path):
    secret = "a-token-of-the-operator"
    options = ("--shared", "--token", secret, "--known-keys")
    with (
        serving(url, tmp_path, "one", *options) as one,
        serving(url, tmp_path, "two", *options) as other,
    ):
        as_operator = {"authorization": f"Bearer {secret}"}
        tokens = {
            team: other.control("POST", "/tokens", json={"team": team}, headers=as_operator)
            for team in ("quokka", "web")
        }
        mobile, web = (
            {"authorization": f"Bearer {made.json()['token']}"} for made in tokens.values()
        )
        until(lambda: other.control("GET", "/worlds", headers=web).status_code == 200)
        until(lambda: one.control("GET", "/worlds", headers=mobile).status_code == 200)
        made = one.control("POST", "/worlds", json={"id": "zanzibar"}, headers=mobile)
        assert made.status_code == 201
        for row in CONTROL:
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


# --- servers that come and go -----------------------------------------------------------------


@pytest.mark.proves("assumed D25-servers")
def test_a_server_that_is_killed_is_replaced_within_a_second(two):
    one, other = two
    made = pay(one).json()["transaction_id"]

    one.kill()
    took_s = until(lambda: works(other))

    assert made in payments(other)
    assert took_s < SILENT_S + 2


def test_a_server_that_ends_hands_its_worlds_over_at_once(two):
    one, other = two
    made = pay(one).json()["transaction_id"]

    one.end()

    assert pay(other).status_code == 200
    assert made in payments(other)


def test_requests_that_are_under_way_when_a_server_ends_are_answered_by_another(two):
    one, other = two
    # From here on the second server remembers where the world is.
    assert pay(other).headers["x-sandbox-server"] == "one"
    paid: list[httpx2.Response] = []
    over = threading.Event()

    def go_on() -> None:
        with httpx2.Client(headers={"x-service-apikey": one.key("merchant")}) as http:
            while not over.is_set():
                body = {"amount": 100, "terminal_id": one.facts["terminals"]["merchant"]}
                paid.append(http.post(f"{other.url}/v3/payment", json=body, timeout=30))

    payer = threading.Thread(target=go_on)
    payer.start()
    until(lambda: len(paid) > 5)
    one.end()
    ended = len(paid)
    until(lambda: len(paid) > ended + 5)
    over.set()
    payer.join()

    assert {answer.status_code for answer in paid} == {200}


def test_a_world_for_which_many_ask_at_once_is_taken_over_once(two):
    one, other = two
    key, body = one.key("merchant"), {"amount": 100}
    body |= {"terminal_id": one.facts["terminals"]["merchant"]}

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


def test_retries_go_on_at_another_server_without_a_request(two):
    one, other = two
    with receiving() as receiver:
        receiver.behave(lambda received: 500 if received.number == 0 else 200)
        one.control("PUT", "/worlds/default/switches", json={"webhooks.time_scale": 0.0001})
        one.control("POST", "/worlds/default/endpoints", json={"url": receiver.url})
        until(lambda: one.control("PUT", "/worlds/default/clock", json={"rate": 1}).is_success)
        pay(one)
        one.kill()
        receiver.wait_for(2, SILENT_S + WAITS_S)
    assert other.process.poll() is None


def test_worlds_outlive_all_servers(url: str, tmp_path: Path):
    with serving(url, tmp_path, "one") as one:
        made = pay(one).json()["transaction_id"]
        one.control("POST", "/worlds", json={"id": "mine"})
        one.kill()
    with serving(url, tmp_path, "two") as two:
        until(lambda: works(two))

        assert made in payments(two)
        listed = two.control("GET", "/worlds", params={"shape": "row"}).json()["worlds"]
        assert [world["id"] for world in listed] == ["default", "mine"]
        assert two.control("GET", "/worlds/mine").status_code == 200


# --- PostgreSQL that goes away ----------------------------------------------------------------


def test_while_postgresql_is_away_requests_are_503_and_afterwards_all_is_there_once(
    url: str, tmp_path: Path, postgres: Postgres
):
    with serving(url, tmp_path, "one") as one:
        made = {pay(one).json()["transaction_id"]}
        postgres.crash()
        try:
            away = pay(one, event_id="AWAY")
        finally:
            postgres.start()
        assert (away.status_code, away.headers["retry-after"]) == (503, "1")
        until(lambda: one.control("GET", "/health").status_code == 200)
        until(lambda: works(one))

        there = payments(one)
        assert made <= there
        found = one.ask("GET", "/v1/transactions", key="merchant", params={"event_id": "AWAY"})
        assert len(found.json()) <= 1


# --- what is refused --------------------------------------------------------------------------


def test_a_database_that_cannot_be_reached_is_refused_in_a_sentence():
    said = refused("postgresql://sandbox:secret@127.0.0.1:1/none")

    assert said.startswith("sandbox: PostgreSQL at 127.0.0.1:1/none cannot be reached")
    assert "secret" not in said


@pytest.mark.parametrize(
    ("part", "why"),
    [
        ("@127.0.0.1:port/none", "cannot be used: invalid literal for int() with base 10: 'port'"),
        ("@[::1/none", "cannot be used: Invalid IPv6 URL"),
        ("@127.0.0.1:{port}/none", 'cannot be used: database "none" does not exist'),
        ("@127.0.0.1:{port}/{name}?sslmode=silly", "cannot be used: `sslmode` parameter"),
        ("@127.0.0.1:{port}/{name}?silly=1", "cannot be used: unrecognized configuration"),
    ],
)
def test_a_url_that_leads_nowhere_is_refused_in_a_sentence(
    url: str, postgres: Postgres, part: str, why: str
):
    name = url.rpartition("/")[2]
    said = refused("postgresql://postgres:secret" + part.format(port=postgres.port, name=name))

    assert why in said
    assert (said.count("\n"), "secret" in said) == (1, False)


def test_a_role_that_may_not_make_tables_is_refused_in_a_sentence(url: str, postgres: Postgres):
    name = url.rpartition("/")[2]
    postgres.asked(url, f"CREATE ROLE small_{name} LOGIN")

    said = refused(url.replace("postgres@", f"small_{name}@"))

    assert "cannot be used: permission denied" in said


def test_the_schema_of_another_program_is_refused(url: str, postgres: Postgres):
    postgres.asked(url, "CREATE SCHEMA uat_sandbox")

    assert "was made by another program" in refused(url)


def test_tables_of_another_version_are_refused(url: str, tmp_path: Path, postgres: Postgres):
    with serving(url, tmp_path, "one"):
        pass
    for version in ("1", "99"):
        set_version = f"UPDATE uat_sandbox.meta SET value = '{version}' WHERE name = 'schema'"
        postgres.asked(url, set_version)

        assert f"tables have version {version}, and this server knows version 2" in refused(url)


def test_a_server_with_another_seed_is_refused(url: str, tmp_path: Path):
    with serving(url, tmp_path, "one"):
        said = refused(url, "--seed", "2")

    assert "its servers have --seed '1', and this one '2'" in said


@pytest.mark.parametrize(
    ("options", "why"),
    [(("--host", "0.0.0.0"), "need the same token"), (("--tls",), "speak plain HTTP")],
)
def test_what_servers_cannot_share_is_refused(url: str, options: tuple[str, ...], why: str):
    assert why in refused(url, *options)


def test_a_world_of_a_later_version_waits_for_a_server_of_that_version(
    url: str, tmp_path: Path, postgres: Postgres
):
    with serving(url, tmp_path, "one") as one:
        one.control("POST", "/worlds", json={"id": "later"})
    postgres.asked(url, "UPDATE uat_sandbox.worlds SET format = 99 WHERE id = 'later'")
    with serving(url, tmp_path, "two") as two:
        answer = two.control("GET", "/worlds/later")

        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert "written by a later version" in answer.json()["message"]
        assert works(two)


def test_worlds_are_converted_to_a_database_and_back(url: str, tmp_path: Path):
    with serving(url, tmp_path, "one") as one:
        made = pay(one).json()["transaction_id"]
        used = run("world", "convert", url, str(tmp_path / "state.db"))
        assert (used.returncode, b"is in use by the servers one" in used.stderr) == (2, True)
    done = run("world", "convert", url, str(tmp_path / "state.db"), "--json")
    assert json.loads(done.stdout)["worlds"] == ["default"]
    other = url + "_too"
    refused_so = run("world", "convert", str(tmp_path / "state.db"), other)
    assert refused_so.returncode == 2
    again = run("world", "convert", str(tmp_path / "state.db"), url)
    assert b"it holds the worlds default" in again.stderr
    with serving(url, tmp_path, "two") as two:
        assert made in payments(two)
