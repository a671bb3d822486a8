"""Worlds on a sandbox that runs elsewhere."""

import asyncio
import subprocess
import sys
import threading
from dataclasses import replace

import httpx2
import pytest

from sandbox.settings import Settings, SettingsError
from tests.testing.conftest import pay, sale
from uat_sandbox import SandboxError, SandboxRefused, sandbox_at, sandbox_server


def test_its_worlds_are_made_there_and_deleted_and_its_webhooks_come(kit):
    with sandbox_at(kit.url + "/_sandbox/") as elsewhere:
        with elsewhere.world(seed=3) as world:
            payment = pay(world)
            world.webhooks.wait_for("transaction.sale", subject=payment["transaction_id"])
            there = kit.control.ask("GET", f"/worlds/{world.id}")
        # One that was not closed is closed with what it was made by.
        unclosed = elsewhere.world()
        client = unclosed.client()

    assert client.is_closed
    for one in (world, unclosed):
        with pytest.raises(SandboxRefused, match="there is no world"):
            kit.control.ask("GET", f"/worlds/{one.id}")
    assert (elsewhere.url, there["seed"]) == (kit.url, 3)


def test_an_unreachable_receiver_fails_only_tests_that_use_webhooks(kit):
    with sandbox_at(kit.url) as near, sandbox_at(kit.url, receiver_host="no such host") as refused:
        unreachable = "it runs elsewhere: --sandbox-receiver-host"
        far = replace(near, why_no_receiver=unreachable)
        for server, why in ((far, unreachable), (refused, "url: ")):
            with server.world() as world:
                assert pay(world)["status"] == "captured"
                with pytest.raises(SandboxError, match=f"webhooks cannot be received: {why}"):
                    _ = world.webhooks
                world.reset()


def test_coverage_of_a_remote_server_covers_the_noted_worlds(kit):
    with sandbox_at(kit.url) as elsewhere:
        with elsewhere.world() as unnoted:
            unnoted.client().get("/v5/apikeys")
        with elsewhere.world() as world:
            world.notes_coverage = True
            other = world.new_world()
            pay(world)
            world.reset()
            pay(world)
            pay(other)

        operations = elsewhere.coverage()["operations"]

    assert operations["exercised"] == {"payments.create": 3}
    assert "apikeys.list" in operations["never"]


def test_nothing_is_left_of_a_server_that_has_ended():
    before = set(threading.enumerate())

    with sandbox_server() as server:
        url, world = server.url, server.world()
        assert {one.name for one in set(threading.enumerate()) - before} == {
            "sandbox",
            "sandbox receiver",
        }

    assert set(threading.enumerate()) == before
    with pytest.raises(SandboxError, match=r"no sandbox answers .*: the sandbox has ended"):
        _ = world.journal
    with pytest.raises(httpx2.RemoteProtocolError):
        asyncio.run(world.async_client().get("/v5/apikeys"))
    with pytest.raises(SandboxError, match="no sandbox answers"), sandbox_at(url):
        pass


FORKED = """
import os
from uat_sandbox import SandboxError, sandbox_server
with sandbox_server() as server, server.world() as world:
    if os.fork() == 0:
        try:
            world.next("approved")
        except SandboxError as error:
            print(error, flush=True)
        os._exit(0)
    os.wait()
"""


def test_a_forked_process_is_told_at_once_that_the_sandbox_serves_in_the_first_one():
    command = [sys.executable, "-W", "ignore", "-c", FORKED]
    said = subprocess.run(command, capture_output=True, text=True, timeout=30).stdout
    assert "it serves in the process from which this one was forked" in said


def test_watching_a_file_is_for_the_command(tmp_path):
    settings = Settings(watch=True, scenario="approve_all")

    with (
        pytest.raises(SettingsError, match="watch: is for `sandbox serve`"),
        sandbox_server(settings),
    ):
        pass


def test_a_webhook_without_a_connection_equals_one_over_it(kit):
    def receive(server):
        with server.world(seed=7, clock="2026-03-01T12:00:00Z") as world:
            world.webhooks.respond(503, headers={"Retry-After": "7"}, body="busy", times=1)
            world.webhooks.respond(204, body="left out")
            pay(world)
            arrived = world.webhooks.wait_for("transaction.sale")
            world.webhooks.settle()
            messages = world.control("GET", "/messages")["messages"]
        attempts = [
            {name: value for name, value in one.items() if name not in ("duration_ms", "sent")}
            for message in messages
            for delivery in message["deliveries"]
            for one in delivery["attempts"]
        ]
        return sorted(arrived.headers), arrived.headers["user-agent"], arrived.body, attempts

    with sandbox_at(kit.url) as elsewhere:
        over_a_connection, without_one = receive(elsewhere), receive(kit)

    assert without_one == over_a_connection


def test_an_answer_without_a_connection_equals_one_over_it(kit):
    def ask(server):
        with server.world(seed=7, clock="2026-03-01T12:00:00Z") as world:
            client, told = world.client(), []

            def tell(method, path, **more):
                try:
                    answer = client.request(method, path, **more)
                except httpx2.TransportError as error:
                    told.append((type(error), str(error)))
                    return
                fields = [(name, len(value)) for name, value in sorted(answer.headers.items())]
                told.append((answer.status_code, fields, answer.text))

            tell("POST", "/v3/payment", json=sale(world))
            tell("GET", "/v2/terminals", params={"limit": 1, "search": "a b/é"})
            tell("HEAD", f"/v2/terminals/{world.terminal()}")
            tell("PATCH", "/v3/payment")
            for fault in ("http_503", "malformed_json", "drop_before", "drop_after"):
                world.next(fault=fault)
                tell("POST", "/v3/payment", json=sale(world, event_id=fault))
            world.next("approved", delay_ms=60_000)
            world.switches({"latency.scale": 1})
            tell("POST", "/v3/payment", json=sale(world), timeout=0.05)
        return told

    with sandbox_at(kit.url) as elsewhere:
        over_a_connection, without_one = ask(elsewhere), ask(kit)

    assert without_one == over_a_connection
