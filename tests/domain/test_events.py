"""The events of spec 6.3 and their bodies."""

import pytest

from sandbox.domain.events import EVENTS

CATEGORIES = {"transaction", "batch", "account", "terminal", "location", "api_key", "credential"}


@pytest.mark.proves("spec 6.1.4, 6.3, 6.3-categories")
def test_a_row_says_what_it_means_and_three_bodies_are_sparse():
    assert {row.category for row in EVENTS.values()} == CATEGORIES
    assert [name for name, row in EVENTS.items() if row.name != name] == []
    assert [name for name, row in EVENTS.items() if row.source != f"spec 6.3-{name}"] == []
    assert len({row.meaning for row in EVENTS.values()} - {""}) == len(EVENTS)
    assert {name for name, row in EVENTS.items() if row.sparse} == {
        *("account.deleted", "terminal.deleted", "location.deleted"),
    }
