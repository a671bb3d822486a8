"""A long JSON document is read in pieces, and comes to the same as if it was read at once."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic_core import from_json

from sandbox.store import json_pieces
from sandbox.store.json_pieces import NotJson, parse
from sandbox.store.steps import run_through

LETTERS = 'ab,:{}[]"\\ é\U0001f600'
# JSON has no word for infinity, and none is read.
_NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | _NUMBERS | st.text(LETTERS),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(LETTERS), inner),
    max_leaves=30,
)


@pytest.fixture(autouse=True)
def _short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_pieces, "PIECE_BYTES", 8)


@given(value=VALUES, indent=st.sampled_from([None, 1]), is_plain=st.booleans())
@example(value={"a": {"b": [1, 2, {"c": []}]}, "d": "x,y"}, indent=None, is_plain=True)
def test_it_is_read_as_at_once(value, indent, is_plain):
    body = json.dumps(value, indent=indent, ensure_ascii=is_plain).encode()

    read = run_through(parse(body))

    assert read == from_json(body)
    # The order of members is that of the document, too.
    assert json.dumps(read) == json.dumps(from_json(body))


@given(value=VALUES, cuts=st.lists(st.integers(0, 10_000), max_size=2), what=st.data())
def test_what_is_refused_at_once_is_refused_and_nothing_else_but_a_name_that_stands_twice(
    value, cuts, what
):
    body = bytearray(json.dumps(value).encode())
    for cut in cuts:
        place = cut % (len(body) + 1)
        body[place : place + what.draw(st.integers(0, 2))] = what.draw(
            st.sampled_from([b"", b",", b"{", b"}", b"[", b"]", b'"', b":", b"\\", b"1", b" "])
        )
    try:
        expected = from_json(body, allow_inf_nan=False)
    except ValueError:
        with pytest.raises(NotJson):
            run_through(parse(body))
        return
    try:
        read = run_through(parse(body))
    except NotJson as error:
        read = str(error).partition(" in ")[0]
    assert read in (expected, "a name appears twice")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"a": [1, 2, 3, 4, 5, 6],           }', "a comma is followed by no value"),
        (b'{"a": [1, 2, 3, 4, 5, 6]', "it ends too early"),
        (b'{"a": [1, 2, 3, 4, 5, 6}, "b": 1}', "brackets do not match"),
        (b"[1, 2, 3], [4, 5, 6], [7, 8, 9]", "near byte"),
        (b'{"a": 1, "b": NaN, "c": 1, "d": 1}', "near byte"),
        (b"[1," * 300 + b"1" + b"]" * 300, "nested too deeply"),
        (b'["' + b"x" * 300 + b'", 1]', "is longer than"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(monkeypatch, body, said):
    monkeypatch.setattr(json_pieces, "VALUE_BYTES_MAX", 64)

    with pytest.raises(NotJson, match=said):
        run_through(parse(body))


def test_no_container_grows_without_end(monkeypatch):
    monkeypatch.setattr(json_pieces, "MEMBERS_MAX", 100)
    fitting = json.dumps(dict.fromkeys(map(str, range(100)))).encode()
    too_many = json.dumps(list(range(102))).encode()

    assert len(run_through(parse(fitting))) == 100
    with pytest.raises(NotJson, match="more than 100 members"):
        run_through(parse(too_many))


def test_no_step_parses_much_more_than_a_piece(monkeypatch):
    parsed: list[int] = []

    def measured(document, **how):
        parsed.append(len(document))
        return from_json(document, **how)

    monkeypatch.setattr(json_pieces, "PIECE_BYTES", 1_000)
    monkeypatch.setattr(json_pieces, "from_json", measured)
    table = {str(number): {"_id": "x" * 20, "of": [1, 2, 3]} for number in range(1_000)}
    body = json.dumps({"file": {"1": {}}, "table": table, "one": list(range(9_000))}).encode()

    assert run_through(parse(body))["table"] == table
    assert len(body) > 80_000
    # The brackets around a piece come on top.
    assert max(parsed) < 1_200
