"""Fixtures of the directory's tests."""

from collections.abc import Iterator

import pytest

from sandbox.domain.profile import Profile
from tests.driving import InProcess
from tests.platform.minting import citations, known_clauses, sandbox_with


@pytest.fixture
def sandbox() -> Iterator[InProcess]:
    """A fresh sandbox, frozen at NOW. Whatever its journal cites in the end has to exist."""
    made = sandbox_with(Profile())
    yield made
    assert set(citations(made)) <= known_clauses()
