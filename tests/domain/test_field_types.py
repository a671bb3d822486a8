"""Field types: bodies and fixtures read them by pydantic, documents by their own reader."""

from collections.abc import Mapping
from typing import Any, Final

import pytest
from pydantic import TypeAdapter, ValidationError

from sandbox.domain import field_types
from sandbox.store.documents import from_document

TYPES: Final[Mapping[str, Any]] = {
    name: kind for name, kind in vars(field_types).items() if hasattr(kind, "__metadata__")
}

VALUES: Final = (
    *(None, True, False, 0, 1, 5, 100, 10_001, -1, 2**63, 0.0, 3.5, 100.0, 100.01, -0.5, 1e308),
    *(float("nan"), float("inf"), "", "x", "7", "5812", "58123", "5812\n", "\u0665812"),
    *("USD", "usd", "demomerchant", "legacy-" + "0" * 24, "0" * 64, "A" * 64, "x" * 2049),
    *("all", "payments:read", "http://host/", "http://host/#f", "https://u:p@host"),
    *("http://host:99999", "whsec_" + "QUJD" * 8),
    *([], ["all"], ["fly"], [""], ["cfg"] * 201, [7], {}, {"status": []}),
)


def _by_pydantic(kind: Any, value: Any) -> Any:
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError:
        return "refused"


def _by_document(kind: Any, value: Any) -> Any:
    try:
        return from_document(kind, value)
    except ValueError:
        return "refused"


@pytest.mark.parametrize("name", sorted(set(TYPES) - {"Rate"}))
def test_both_readers_accept_and_read_the_same_values(name: str):
    read = {repr(value): _by_pydantic(TYPES[name], value) for value in VALUES}

    assert {repr(value): _by_document(TYPES[name], value) for value in VALUES} == read
    assert "refused" in read.values()


def test_a_refusal_is_a_sentence_without_the_refused_value():
    with pytest.raises(ValueError, match=r"^string should have at most 200 characters$"):
        from_document(field_types.WorldName, "hunter2" * 30)
