"""Keys off loopback are of one server only, unless they are to be known.

Source: docs/design/worlds.md.
"""

import json
import logging
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sandbox.app import build
from sandbox.settings import Settings
from sandbox.store.files.file_kinds import copy, open_file
from sandbox.store.files.port import StoreError
from tests.driving import InProcess
from tests.state.filling import looping

TOKEN = "open-sesame-open-sesame"


def a_server(host: str = "0.0.0.0", **more: Any) -> InProcess:
    headers = {"accept": "application/json", "authorization": f"Bearer {TOKEN}"}
    sandbox = build(Settings(host=host, token=TOKEN, **more))
    return InProcess(sandbox, defaults=headers)


def on(path: Path, host: str = "0.0.0.0", **more: Any) -> AbstractContextManager[InProcess]:
    """A server that keeps its worlds in this file, until the block ends."""
    return looping(a_server(host, store=path, **more))


def keys(sandbox: InProcess, world: str = "default") -> dict[str, str]:
    """The plaintext of the keys of a world's cast, each of which leads to it."""
    worlds = sandbox.sandbox.worlds
    plain = replace(sandbox, world=world).cast.plaintexts
    holders = [worlds.holder(worlds.profile.key_format.parse(key)) for key in plain.values()]
    assert [holder and holder[0].id for holder in holders] == [world] * len(plain)
    return plain


def secrets(plain: dict[str, str]) -> set[str]:
    return {key[-32:] for key in plain.values()}


@pytest.fixture(params=["state.json", "state.db"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / request.param


# --- in memory --------------------------------------------------------------------------------


def test_off_loopback_no_other_server_has_the_keys_of_a_world_and_ids_are_the_same():
    servers = [a_server(), a_server(), a_server("127.0.0.1")]
    for server in servers:
        server.add_world("one")

    for world in ("default", "one"):
        found = [secrets(keys(server, world)) for server in servers]
        assert len(set.union(*found)) == sum(map(len, found))
    first, *others = (server.control("GET", "/worlds/default").json() for server in servers)
    ids = {name: key["id"] for name, key in first["keys"].items()}
    for view in others:
        assert (first["accounts"], first["terminals"]) == (view["accounts"], view["terminals"])
        assert ids == {name: key["id"] for name, key in view["keys"].items()}


def test_with_known_keys_they_are_those_of_loopback_and_of_default_whatever_the_seed():
    server, documented = a_server(known_keys=True, seed=2), a_server("127.0.0.1")
    for one in (server, documented):
        one.add_world("one", seed=1)

    assert keys(server) == keys(documented)
    assert keys(server, "one") == keys(documented, "one")
    # Users paste this key into their settings; changing it breaks them.
    assert keys(server)["merchant"] == "svc_uat_demomerchant_Rahy5R22dHat85afU6lKXIXOEWGwLG82"


def test_secrets_of_endpoints_and_minted_keys_are_of_one_server_as_well():
    def made(server: InProcess) -> tuple[str, str]:
        endpoint = server.add_endpoint(url="http://8.8.8.8/hook")
        return endpoint["secret"], server.create_key().json()["key"]

    found = [made(a_server()), made(a_server()), made(a_server("127.0.0.1"))]

    assert len({secret for pair in found for secret in pair}) == 6


# --- in a file --------------------------------------------------------------------------------


def test_the_keys_of_kept_worlds_stay_over_restarts_wherever_the_server_is_bound(path: Path):
    with on(path) as server:
        server.add_world("one")
        before = keys(server), keys(server, "one")

    for host, known in (("0.0.0.0", False), ("127.0.0.1", False), ("0.0.0.0", True)):
        with on(path, host, known_keys=known) as server:
            assert (keys(server), keys(server, "one")) == before
            for world in ("default", "one"):
                replace(server, world=world).reset()
            assert (keys(server), keys(server, "one")) == before


def test_a_world_with_known_keys_keeps_them_beside_others_in_one_file(path: Path):
    with on(path) as server:
        default = keys(server)
    with on(path, "127.0.0.1") as server:
        server.add_world("one")
        one = keys(server, "one")

    with on(path) as server:
        server.add_world("two")
        assert keys(server) == default
        assert keys(server, "one") == one
        two = keys(server, "two")
    documented = a_server("127.0.0.1")
    for id in ("one", "two"):
        documented.add_world(id)
    assert keys(documented, "one") == one
    assert secrets(keys(documented, "two")).isdisjoint(secrets(two))


def test_a_server_off_loopback_says_which_of_its_worlds_have_known_keys(
    path: Path, caplog: pytest.LogCaptureFixture
):
    with on(path, "127.0.0.1") as server:
        before = keys(server)
    caplog.set_level(logging.WARNING, "sandbox.store")

    with on(path) as server:
        assert keys(server) == before

    (said,) = [message for message in caplog.messages if "API keys" in message]
    assert ": default;" in said


def test_the_secret_is_in_the_file_off_loopback_and_nowhere_else(path: Path):
    with on(path, "127.0.0.1"):
        pass
    assert b"secret" not in path.read_bytes().replace(b'"secret":"whsec', b"")

    with on(path) as server:
        secret = server.sandbox.worlds.secret
        shown = [
            server.control("GET", where).body.decode()
            for where in ("/health", "/worlds", "/worlds/default", "/worlds/default/snapshot")
        ]
    assert secret.hex().encode() in path.read_bytes()
    assert [one for one in shown if secret.hex() in one] == []


def test_a_file_without_its_secret_or_with_a_bad_one_is_refused(tmp_path: Path):
    path = tmp_path / "state.json"
    with on(path):
        pass
    document = json.loads(path.read_bytes())
    (head,) = document["file"].values()
    for secret, said in {
        None: r"world 'default': .*the server's secret",
        **dict.fromkeys(("", "00", "zz" * 32, 7), "secret is not 64 hex digits"),
    }.items():
        head["secret"] = secret
        path.write_text(json.dumps(document), encoding="utf-8")

        with pytest.raises(StoreError, match=said):
            a_server(store=path)


@pytest.mark.parametrize("target", ["state.json", "state.db"])
def test_a_copy_of_a_file_has_the_secret(path: Path, target: str):
    into = path.with_name(f"copy-{target}")
    with on(path) as server:
        before = keys(server)

    with closing(open_file(path)) as one, closing(open_file(into)) as other:
        copy(one, other)

    with on(into) as server:
        assert keys(server) == before
