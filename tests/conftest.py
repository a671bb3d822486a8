"""Fixtures for all tests. A sandbox in process costs a millisecond: each test has its own."""

import asyncio
import gc
import sys
from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from hypothesis import settings

from tests.driving import NOW, InProcess, Served, fresh, serving
from tests.properties import SEED, examples
from tests.servers import elsewhere
from tests.support.open_requests import OpenRequests, Run

settings.register_profile(
    "sandbox", derandomize=SEED is None, database=None, deadline=None, max_examples=examples(60)
)
settings.load_profile("sandbox")

if find_spec("sniffio") is None:
    # httpx2 tries to import it at each request to an application, which is a third of its time.
    sys.modules["sniffio"] = None


def pytest_collection() -> None:
    """What is collected stays: looking through it for garbage again and again would be slow."""
    gc.disable()


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    gc.enable()


def pytest_sessionfinish() -> None:
    elsewhere.end()


@pytest.fixture
def sandbox() -> InProcess:
    """A fresh sandbox under the neutral profile, its clock frozen at NOW."""
    if elsewhere.TESTED:
        return elsewhere.ElsewhereProcess()
    return fresh()


@pytest.fixture
def run() -> Iterator[Run]:
    """Carries out what waits, on a loop of the test that stands still meanwhile."""
    with asyncio.Runner() as runner:
        yield runner.run


@pytest.fixture
def requests(sandbox: InProcess, run: Run) -> OpenRequests:
    """The sandbox of the test, for requests that stay open."""
    return OpenRequests(sandbox, run)


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    """One sandbox on a real socket for all tests that need one and do not disturb the others."""
    if elsewhere.TESTED == "elsewhere":
        yield elsewhere.served_elsewhere()
        return
    with serving("--clock", NOW) as server:
        yield server
