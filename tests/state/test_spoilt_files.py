"""State files in which bytes were lost or changed: refused in words, or served without failing."""

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from sandbox.app import create_app
from sandbox.settings import Settings
from sandbox.store.files.port import StoreError
from tests.properties import examples
from tests.state.filling import a_sandbox, fill
from tests.state.saved_worlds import KINDS

LISTS = (
    *("/v1/accounts", "/v2/terminals", "/v1/locations", "/v1/accounts/credentials", "/v5/apikeys"),
    *("/v2/transactions?limit=200", "/v2/transactions?search_term=a", "/v1/batches?limit=500"),
)
WORLD = "/_sandbox/worlds/default"
SHOWN = ("", "/messages", "/endpoints", "/switches", "/clock", "/snapshot", "/coverage")

PLACE = st.floats(min_value=0, max_value=1, exclude_max=True)
LOST = st.tuples(PLACE, st.sampled_from([1, 20, 512]), st.just(b""))
ZEROED = st.tuples(PLACE, st.just(512), st.just(bytes(512)))
FLIPPED = st.tuples(PLACE, st.just(1), st.sampled_from([b"a", b"Z", b"0", b"7", b" ", b'"', b"}"]))
EDITS = st.lists(FLIPPED, min_size=1, max_size=2) | st.lists(LOST | ZEROED, max_size=2)
"""Where to edit, how many bytes to take out there, and what to put in."""


@pytest.fixture(scope="module", params=KINDS)
def good(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with something of everything, of a server that has ended."""
    path: Path = tmp_path_factory.mktemp("good") / f"state.{request.param}"
    full = a_sandbox()
    fill(full)
    with client_of(path) as client:
        assert client.put(f"{WORLD}/snapshot", content=full.saved()).status_code == 200
    return path


def client_of(path: Path) -> TestClient:
    """A client of a sandbox on this file. Raises StoreError if none can start on it."""
    app = create_app(Settings(store=path))
    return TestClient(app, base_url="http://localhost", raise_server_exceptions=False)


@given(
    edits=EDITS, ends_at=st.sampled_from([None, None, None]) | PLACE, has_good_copy=st.booleans()
)
@settings(max_examples=examples(30), suppress_health_check=list(HealthCheck))
def test_a_damaged_file_is_refused_in_a_sentence_or_served(
    good, tmp_path_factory, edits, ends_at, has_good_copy
):
    path = tmp_path_factory.mktemp("spoilt") / good.name
    beside = good.with_name(good.name + ".good")
    if has_good_copy and beside.exists():
        shutil.copy(beside, path.with_name(path.name + ".good"))
    content = good.read_bytes()
    for place, removed, added in edits:
        at = int(place * len(content))
        content = content[:at] + added + content[at + removed :]
    path.write_bytes(content if ends_at is None else content[: int(ends_at * len(content))])

    refusal = None
    try:
        client = client_of(path)
    except StoreError as error:
        refusal = str(error)

    if refusal is not None:
        event("refused")
        assert str(path) in refusal
    else:
        event("served")
        with client:
            assert [one for one in statuses(client) if one >= 500] == []


def statuses(client: TestClient) -> list[int]:
    """What comes of reading everything that can be listed, and of one more payment."""
    found = [client.get(f"{WORLD}{path}").status_code for path in SHOWN]
    keys = client.get(WORLD).json()["keys"]
    for name in ("partner", "merchant"):
        headers = {"x-service-apikey": keys[name]["key"] if name in keys else "none"}
        found += [client.get(path, headers=headers).status_code for path in LISTS]
        sale = {"amount": 1000, "terminal_id": "none"}
        found.append(client.post("/v3/payment", json=sale, headers=headers).status_code)
    return found
