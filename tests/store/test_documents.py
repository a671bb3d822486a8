"""Documents of records: whatever a record holds comes back, by either way of reading."""

import json

import pytest

from sandbox.domain.webhooks import Spoiled
from sandbox.store.documents import Unreadable, from_document, from_own, to_document, to_text

HUGE = 10**30


def test_numbers_of_any_size_come_back():
    record = Spoiled(id="rule", when={"amount": HUGE}, then={"drop": True}, left=1)

    document = json.loads(to_text(record))

    assert document == to_document(record)
    assert from_own(Spoiled, document) == from_document(Spoiled, document) == record


def test_a_mistake_names_its_field_and_never_its_value():
    document = {"id": "rule", "when": {}, "then": [], "left": "secret"}

    with pytest.raises(Unreadable) as refused:
        from_document(Spoiled, document)

    assert str(refused.value) == "then: must be an object, not a list"
    assert from_own(Spoiled, document | {"then": {}, "left": 1}).left == 1
