"""A piece of text is looked for in what records say of themselves."""

import pytest

from sandbox.domain.directory import Terminal
from sandbox.store.store import Store
from tests.store.records import AT, account, put


def a_terminal(id: str, **more: object) -> Terminal:
    given: dict[str, object] = {"name": id, "account_id": "leaf", "created_at": AT}
    return Terminal(terminal_id=id, **(given | more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("piece", "ids"),
    [
        ("f", ["3", "1"]),
        ("fr", ["1"]),
        ("fro", ["1"]),
        ("fron", ["1"]),
        ("FRONT DESK", ["1"]),
        ("front desks", []),
        ("desk", ["2", "1"]),
        ("DES", ["2", "1"]),
        ("  ", []),
        ("8860", ["2", "1"]),
        ("88600000002", ["2"]),
        ("0002", ["2"]),
        ("\u00e4", ["3"]),
        ("CAF\u00c9 \u00c4", ["3"]),
        ("k 2 8860", []),
    ],
)
def test_a_piece_of_any_length_is_found_in_any_one_text_in_any_case(piece, ids):
    store = Store()
    put(
        store,
        account("root"),
        account("leaf", "root"),
        a_terminal("1", name="Front desk", mid="886000000011", tid="00000001"),
        a_terminal("2", name="Desk 2", mid="886000000022", tid="00000002"),
        a_terminal("3", name="Caf\u00e9 \u00e4 la carte"),
    )

    found, total = store.begin().find(Terminal, {"scope": "root", "search": piece})

    assert [one.terminal_id for one in found] == ids
    assert total == len(ids)
