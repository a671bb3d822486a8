"""Servers that share worlds, when PostgreSQL, a session or a task of theirs fails.

TESTED_STRIKES=100 has so many strikes under load, and prints what they came to.
"""

import asyncio
import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from math import ceil
from pathlib import Path
from random import Random
from typing import Any

import asyncpg
import httpx2
import pytest

from sandbox.app import build
from sandbox.cluster.database import PATIENCE_S, Database
from sandbox.cluster.forwarding import Forwarding
from sandbox.cluster.ownership import COUNT_ALONE
from sandbox.cluster.server import ClusterServer
from sandbox.cluster.session import FRESH_S, SILENT_S
from sandbox.settings import Settings
from sandbox.store.files.port import Unavailable
from sandbox.worlds.elsewhere import Peer
from tests.driving import until
from tests.servers.cutting import Cutter
from tests.servers.driving import WAITS_S, payments, serving, works
from tests.servers.postgres import Postgres, serving_postgres
from tests.servers.striking import STRIKES, Campaign
from tests.state.saved_worlds import refused
from tests.webhooks.receiving import receiving
from tests.whole.installing import free_port

STRUCK = int(os.environ.get("TESTED_STRIKES", len(STRIKES)))
CHECKED_EACH = 4
MOMENTS = 40
ANSWERED_S = 15.0
"""No request waits for longer, whatever happens: for a connection, an answer, and a session."""

TASKS = (
    "keeping the session",
    "writing to PostgreSQL",
    "watching the other servers",
    "looking for worlds with something due",
)


# --- strikes under load -----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(1, 1 + ceil(STRUCK / len(STRIKES))))
def test_acknowledged_writes_are_there_once_after_every_strike(tmp_path: Path, seed: int):
    kinds = Random(seed).sample(sorted(STRIKES), len(STRIKES))
    with receiving() as receiver, Campaign(tmp_path, receiver, seed) as campaign:
        for number, kind in enumerate(kinds):
            campaign.strike(kind)
            if number % CHECKED_EACH == 0:
                campaign.check()
        campaign.check(is_over=True)

    for kind, took_s in campaign.strikes:
        print(f"{took_s:6.2f} s  {kind}")
    for world, witness in campaign.witnesses.items():
        print(world, witness.numbers)
        assert witness.numbers["acknowledged"] > len(kinds)


# --- a server that freezes --------------------------------------------------------------------


@pytest.mark.proves("assumed D25-servers")
def test_reads_that_wait_at_a_frozen_server_know_what_others_did_meanwhile(two):
    # A session is ended only after its server has stopped to answer.
    assert SILENT_S > 2 * FRESH_S
    one, other = two
    made = {one.pay().json()["transaction_id"]}

    def read() -> httpx2.Response:
        # A connection that was kept idle for too long is closed without an answer.
        by = {"x-service-apikey": one.key("merchant")}
        return httpx2.get(f"{one.url}/v2/transactions?limit=200", headers=by, timeout=30)

    for stopped_s in (3.0, 6.0):
        one.process.send_signal(signal.SIGSTOP)
        with ThreadPoolExecutor() as threads:
            reading = [threads.submit(read) for _ in range(3)]
            stopped = time.monotonic()
            while time.monotonic() - stopped < stopped_s:
                if stopped_s > SILENT_S and works(other):
                    made |= payments(other)
                threading.Event().wait(0.1)
            one.process.send_signal(signal.SIGCONT)

        for answer in (reader.result() for reader in reading):
            if answer.status_code == 200:
                read_now = {each["transaction_id"] for each in answer.json()["transactions"]}
                assert made <= read_now
            else:
                assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        until(lambda: works(one))
        assert payments(one) == payments(other) >= made


def test_a_body_for_an_unreachable_server_is_used_where_its_world_moves(url: str, tmp_path: Path):
    unreachable = ("--advertise", f"http://127.0.0.1:{free_port()}")
    with serving(url, tmp_path, "one", *unreachable) as one, serving(url, tmp_path, "two") as two:
        one.process.send_signal(signal.SIGSTOP)

        answer = two.control("PUT", "/worlds/default/switches", json={"latency.scale": 0.5})

        one.process.kill()
    assert (answer.status_code, answer.json()["latency.scale"]) == (200, 0.5)


def test_every_request_that_was_sent_on_to_a_server_that_is_gone_is_ended():
    async def send_on_twice(url: str) -> None:
        forwarding = Forwarding()
        scope = {"method": "POST", "path": "/", "query_string": b"", "headers": []}

        def send_on() -> asyncio.Task[bool]:
            peer = Peer(7, "gone", url, url)
            never, taken = asyncio.Event().wait, asyncio.sleep
            return asyncio.create_task(
                forwarding.forward(peer, url, dict(scope), never, taken, b"")
            )

        first = send_on()
        await asyncio.sleep(0.1)
        forwarding.end(7)
        # It comes before the end of the other one is over.
        second = send_on()
        await asyncio.wait((first,))
        await asyncio.sleep(0.1)
        forwarding.end(7)

        for sent in (first, second):
            with pytest.raises(Unavailable, match="is gone"):
                await asyncio.wait_for(sent, WAITS_S)
        await forwarding.close()

    with socket.create_server(("127.0.0.1", 0)) as silent:
        asyncio.run(send_on_twice(f"http://127.0.0.1:{silent.getsockname()[1]}"))


# --- PostgreSQL that fails --------------------------------------------------------------------


def test_a_url_may_name_several_hosts_of_which_one_takes_writes(tmp_path: Path):
    with serving_postgres() as first, first.standby() as second:
        first.wait_for_standby()
        name = first.new_database().rpartition("/")[2]
        standby = f"127.0.0.1:{second.port}"
        assert "is a standby, which is read-only" in refused(
            f"postgresql://postgres@{standby}/{name}"
        )
        url = f"postgresql://postgres@{standby},127.0.0.1:{first.port}/{name}"
        with serving(url, tmp_path, "one") as one, serving(url, tmp_path, "two") as other:
            made = one.pay().json()["transaction_id"]
            first.crash()
            second.promote()

            until(lambda: works(one) and works(other))
            assert made in payments(other)
            assert payments(one) == payments(other)


def test_a_server_that_nothing_reaches_drops_its_worlds_and_comes_back(
    url: str, tmp_path: Path, postgres: Postgres
):
    with Cutter(postgres.port) as cutter:
        through = url.replace(f":{postgres.port}/", f":{cutter.port}/")
        with serving(through, tmp_path, "one") as one, serving(url, tmp_path, "two") as other:
            made = one.pay().json()["transaction_id"]
            with cutter.holding(), ThreadPoolExecutor() as threads:
                asked = [
                    threads.submit(one.control, method, path, timeout=ANSWERED_S, **body)
                    for method, path, body in (
                        ("POST", "/worlds", {"json": {"id": "new"}}),
                        ("GET", "/worlds/other", {}),
                        ("DELETE", "/worlds/other", {}),
                        ("GET", "/worlds", {}),
                    )
                ]
                until(lambda: one.pay().status_code == 503)
                assert one.control("GET", "/health").status_code == 503
                until(lambda: works(other))
                later = payments(other)
                for answer in asked:
                    assert answer.result().status_code == 503, answer.result().text
            until(lambda: works(one))

            assert {made} <= later <= payments(one)


def test_unanswered_statements_end_in_time(url: str, postgres: Postgres):
    async def ask_in_vain(database: Database, cutter: Cutter) -> None:
        async with database.connection(0.1) as connection, connection.transaction():
            with cutter.holding():
                await asyncio.wait_for(connection.execute("SELECT 1"), WAITS_S)

    async def ask(through: str, cutter: Cutter) -> None:
        database = Database(through)
        await database.open()
        with pytest.raises(Unavailable, match=r"no answer within 0\.1 s"):
            await ask_in_vain(database, cutter)
        await database.close()

    with Cutter(postgres.port) as cutter:
        asyncio.run(ask(url.replace(f":{postgres.port}/", f":{cutter.port}/"), cutter))


def test_a_task_that_waits_for_a_statement_ends_when_it_is_canceled(url: str, postgres: Postgres):
    async def cancel(through: str, cutter: Cutter) -> None:
        database, held, asked = Database(through), contextlib.ExitStack(), asyncio.Event()
        await database.open()

        async def ask_in_vain() -> None:
            async with database.connection() as connection:
                held.enter_context(cutter.holding())
                asked.set()
                await connection.execute("SELECT 1")

        with held:
            task = asyncio.create_task(ask_in_vain())
            await asked.wait()
            task.cancel()
            await asyncio.wait({task})
        await database.close()
        assert task.cancelled(), task.exception()

    with Cutter(postgres.port) as cutter:
        asyncio.run(cancel(url.replace(f":{postgres.port}/", f":{cutter.port}/"), cutter))


def test_an_unused_reservation_frees_its_id(two, url: str, postgres: Postgres):
    """As after the end of a connection on which a reservation was written, but not confirmed."""
    one, other = two
    postgres.asked(
        url,
        "INSERT INTO uat_sandbox.worlds (id, wid, team, session, n, format, touched_at) "
        "SELECT 'mine', 1, '', number, 0, 1, now() - interval '1 minute' "
        "FROM uat_sandbox.living WHERE name = 'one'",
    )

    until(lambda: other.control("POST", "/worlds", json={"id": "mine"}).status_code == 201)
    assert one.control("GET", "/worlds/mine").status_code == 200


def test_a_server_that_freezes_during_a_reservation_holds_up_no_other(url: str, tmp_path: Path):
    async def freeze_while(create: Callable[[], httpx2.Response]) -> httpx2.Response:
        connection = await asyncpg.connect(url)
        await connection.execute("BEGIN")
        await connection.execute(COUNT_ALONE)
        try:
            return await asyncio.to_thread(create)
        finally:
            connection.terminate()

    with serving(url, tmp_path, "one") as one:
        body = {"id": "mine"}
        made = asyncio.run(freeze_while(lambda: one.control("POST", "/worlds", json=body)))
        assert made.status_code == 201, made.text


def test_a_request_that_comes_while_postgresql_is_away_keeps_its_body(two, postgres: Postgres):
    answers: list[httpx2.Response] = []
    one, other = two
    payer = threading.Thread(target=lambda: answers.append(other.pay()))
    postgres.crash()
    try:
        payer.start()
        # PostgreSQL is back after the first search for the world has failed.
        payer.join(PATIENCE_S + 1)
    finally:
        postgres.start()
    payer.join()

    assert answers[0].status_code in (200, 503), answers[0].text
    until(lambda: works(one) and works(other))
    assert payments(one) == payments(other)


def test_a_commit_that_waits_for_a_lock_is_done_or_refused_but_not_twice(
    url: str, tmp_path: Path, postgres: Postgres
):
    with serving(url, tmp_path, "one") as one:
        held = threading.Thread(
            target=postgres.asked,
            args=(
                url,
                "BEGIN; SELECT id FROM uat_sandbox.worlds FOR UPDATE; SELECT pg_sleep(5); COMMIT",
            ),
        )
        held.start()
        threading.Event().wait(0.5)
        sale = one.pay(event_id="SLOW")
        held.join()
        while sale.status_code == 503:
            sale = one.pay(event_id="SLOW")

        query = {"event_id": "SLOW"}
        found = one.ask("GET", "/v1/transactions", key="merchant", params=query).json()
        assert len(found) == 1


def test_a_pooler_in_session_mode_works_and_one_in_transaction_mode_is_refused(
    url: str, tmp_path: Path, postgres: Postgres
):
    for mode in ("transaction", "statement"):
        with postgres.pooled(url, mode) as through:
            said = refused(through)

        assert "a pooler in transaction mode in between" in said
        assert said.count("\n") == 1
    with (
        postgres.pooled(url, "session") as through,
        serving(through, tmp_path, "one") as one,
        serving(url, tmp_path, "two") as other,
    ):
        made = one.pay().json()["transaction_id"]
        one.kill()
        until(lambda: works(other))
        assert made in payments(other)


def test_an_unreadable_world_is_logged_once_and_holds_up_no_other(
    url: str, tmp_path: Path, postgres: Postgres
):
    damage = "UPDATE uat_sandbox.documents SET text = '{}' FROM uat_sandbox.worlds w"
    due = "UPDATE uat_sandbox.worlds SET next_due = now() WHERE id = "
    with serving(url, tmp_path, "one") as one:
        for world in ("broken", "whole"):
            one.control("POST", "/worlds", json={"id": world})
    postgres.asked(
        url, f"{damage} WHERE w.wid = documents.wid AND tbl = 'world' AND w.id = 'broken'"
    )
    postgres.asked(url, "UPDATE uat_sandbox.worlds SET next_due = NULL WHERE id <> 'default'")
    with serving(url, tmp_path, "two") as other:

        def said(text: str) -> list[str]:
            return [line["message"] for line in other.said() if text in line["message"]]

        postgres.asked(url, f"{due} 'broken'")
        until(lambda: bool(said("'broken' cannot be read")))
        postgres.asked(url, f"{due} 'whole'")
        until(lambda: bool(said("'whole' is here now")))

        assert len(said("'broken' cannot be read")) == 1


# --- tasks that end ---------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def running(url: str) -> AsyncIterator[tuple[ClusterServer, httpx2.AsyncClient]]:
    """A server in the process of the test, and a client that asks it."""
    sandbox = build(Settings(database=url))
    server: Any = sandbox.leave.__self__  # type: ignore[union-attr]
    transport = httpx2.ASGITransport(app=sandbox.app)
    async with (
        sandbox.app.router.lifespan_context(sandbox.app),
        httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080") as client,
    ):
        yield server, client


def test_a_task_that_ends_costs_the_session_and_begins_again(url: str):
    async def end_tasks() -> None:
        async with running(url) as (server, client):
            for purpose in TASKS:
                before = server._session.number
                server._supervisor.tasks[purpose].cancel()
                await asyncio.sleep(0.5)

                switches = {"webhooks.time_scale": 0.5}
                switched = await client.put("/_sandbox/worlds/default/switches", json=switches)

                assert switched.status_code == 200, (purpose, switched.text)
                assert server._session.number not in (0, before), purpose

    asyncio.run(end_tasks())


def test_a_task_that_fails_twice_ends_the_process(url: str, monkeypatch: pytest.MonkeyPatch):
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)

    async def fail() -> None:
        await asyncio.sleep(0.01)
        if not ended:
            raise asyncpg.InternalClientError("cannot switch to state 12")
        await asyncio.Event().wait()

    async def fail_twice() -> None:
        async with running(url) as (server, _):
            server._supervisor.run("failing", fail)
            await asyncio.sleep(0.5)

    asyncio.run(fail_twice())
    assert ended[0] == 70


# --- a session that is lost -------------------------------------------------------------------


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_a_request_is_answered_at_whatever_moment_the_session_is_lost(url: str, method: str):
    """A moment is a round of the loop; the last ones are after the answer."""

    async def ask_for_worlds() -> None:
        async with running(url) as (server, client):
            for moment in range(MOMENTS):
                id = f"world-{moment}"
                request = client.build_request("POST", "/_sandbox/worlds", json={"id": id})
                if method != "POST":
                    await client.send(request)
                    # It has to be claimed and read again.
                    server._lose(server.worlds.get(id))
                    request = client.build_request(method, f"/_sandbox/worlds/{id}")
                asking = asyncio.create_task(client.send(request))
                for _ in range(moment):
                    await asyncio.sleep(0)
                server._session.lose(ConnectionError("a cable was cut"))

                answer = await asyncio.wait_for(asking, WAITS_S)
                assert answer.status_code in (200, 201, 204, 503), answer.text

    asyncio.run(ask_for_worlds())


def test_a_server_stops_at_whatever_moment_the_session_is_lost(url: str):
    async def stop(moment: int) -> None:
        async with asyncio.timeout(WAITS_S), running(url) as (server, _):
            await server._session.ready()
            server._session.lose(ConnectionError("a cable was cut"))
            for _ in range(moment):
                await asyncio.sleep(0)

    for moment in range(4):
        asyncio.run(stop(moment))


# --- worlds that spread -----------------------------------------------------------------------


def test_worlds_spread_again_when_a_server_comes_back(url: str, tmp_path: Path):
    with serving(url, tmp_path, "one") as one:
        for number in range(8):
            one.control("POST", "/worlds", json={"id": f"world-{number}"})
        with serving(url, tmp_path, "two") as other:

            def held() -> dict[str, int]:
                rows = other.control("GET", "/servers").json()["servers"]
                return {row["name"]: row["worlds"] for row in rows}

            until(lambda: held()["two"] >= 3, within_s=60)
            assert sum(held().values()) == 9
            for number in range(8):
                assert other.control("GET", f"/worlds/world-{number}").status_code == 200
