"""No card number, and nothing that a reader read, is kept or said.

Source: assumed 6.4; spec 6.1.7.
"""

import pytest
from msgspec import Struct

from sandbox.domain.payments.cards import CARDS, Card
from sandbox.store.tables import TABLES
from tests.directory.making import terminal_id
from tests.platform.secret_texts import escaped, everything_kept
from tests.support.payments import operate, paid_id, pay, ready_for

LIVE = "5555555555554444"
"""A number of no test card, as a real one would be."""

TEST = "4111111111111111"
BLOB = "ARjtB1o8wkI5ZHPxQ1ypVqGmSL0cN2kOaUzSpRtTbYd="


def in_fours(number, between):
    return between.join(number[at : at + 4] for at in range(0, len(number), 4))


def digits_of(text):
    """The text without whatever may stand between the digits of a number."""
    return text.translate(str.maketrans("", "", " -_./"))


# --- whatever is kept -------------------------------------------------------------------------


def parts_of(value):
    """What a value is made of; None where it is a text or a number."""
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, Struct):
        return [getattr(value, name) for name in value.__struct_fields__]
    return list(value) if isinstance(value, tuple | list | set | frozenset) else None


def texts_of(value):
    """Every text within a record, whatever it is made of."""
    if isinstance(value, Card):
        # A row of the published table, not what was sent: see the test about records below.
        yield value.token
    elif (parts := parts_of(value)) is not None:
        for part in parts:
            yield from texts_of(part)
    else:
        yield value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def records_of(world):
    """Every record of every table, and every message."""
    unit = world.store.begin()
    for table in TABLES:
        found, _ = unit.find(table.kind, {})
        yield from found
    yield from world.store.messages()


def kept_by(sandbox):
    """All that worlds and journals hold, as text."""
    stored = [
        text
        for world in sandbox.sandbox.worlds
        for record in records_of(world)
        for text in texts_of(record)
    ]
    held = [
        text
        for world in sandbox.sandbox.worlds
        for entry in world.journal.entries()
        for text in (*texts_of(entry.request), *texts_of(entry.response), entry.path, entry.query)
    ]
    return digits_of("\n".join([everything_kept(sandbox), *stored, *held]))


def test_the_walk_finds_what_is_kept(sandbox):
    paid_id(sandbox, additional_details={"table": "t-42"}, device_id="till-7")

    kept = kept_by(sandbox)

    assert digits_of("t-42") in kept
    assert digits_of("till-7") in kept
    assert "476173******0011" in kept


# --- where a number belongs -------------------------------------------------------------------

READERS = {
    "in the reader's object": lambda data: {"card_reader_data": {"paymentCardData": data}},
    "flat": lambda data: {"paymentCardData": data},
    "as the other data": lambda data: {"card_reader_data": {"generalCardData": data}},
    "as the other data, flat": lambda data: {"generalCardData": data},
    "as the reader's id": lambda data: {"card_reader_data": {"id": data}},
    "as an unknown field of the reader": lambda data: {"card_reader_data": {"track2": data}},
    "deep in the reader's object": lambda data: {"card_reader_data": {"a": [{"b": [data]}]}},
    "instead of the object": lambda data: {"card_reader_data": data},
    "twice": lambda data: {
        "card_reader_data": {"paymentCardData": data},
        "paymentCardData": data,
    },
}


@pytest.mark.proves("spec 6.1.7", "assumed D13")
@pytest.mark.parametrize("place", READERS)
def test_what_a_reader_read_is_neither_kept_nor_answered(sandbox, place):
    for data in (BLOB, LIVE, "371449635398431", in_fours(TEST, " "), in_fours(LIVE, "-")):
        answer = pay(sandbox, **READERS[place](data))

        assert answer.status in (200, 400)
        assert digits_of(data) not in digits_of(answer.body.decode())
        assert digits_of(data) not in kept_by(sandbox)


def test_nor_is_what_a_reader_read_for_an_action_or_in_a_body_of_no_object(sandbox):
    for data in (BLOB, TEST, LIVE):
        sent = {"card_reader_data": {"paymentCardData": data}}
        answers = [
            operate(sandbox, ready_for(sandbox, operation), operation, **sent)
            for operation in ("refund", "capture", "reverse", "tip_adjust")
        ]
        for body in (
            '{"card_reader_data": {"paymentCardData": "%s"',
            '[{"paymentCardData": "%s"}]',
            "paymentCardData=%s&amount=1",
            '{"paymentCardData": "%s"} and more',
            '{"paymentCardData": ["%s"], "paymentCardData": 7}',
        ):
            payload = (body % data).encode()
            answers.append(sandbox.ask("POST", "/v3/payment", key="partner", body=payload))
            assert answers[-1].status == 400
        for answer in answers:
            assert digits_of(data) not in digits_of(answer.body.decode())
        assert digits_of(data) not in kept_by(sandbox)


@pytest.mark.proves("assumed 2.11")
def test_the_journal_masks_a_readers_data_and_names_the_token_of_a_test_card(sandbox):
    reader = {"paymentCardData": "tok_declined", "generalCardData": BLOB, "id": "reader-1"}

    answer = pay(sandbox, card_reader_data=reader)

    shown = sandbox.journal(answer)["request"]["card_reader_data"]
    assert shown["paymentCardData"] == "tok_declined"
    assert shown["generalCardData"] == "****"


@pytest.mark.proves("spec 2.4-card, 6.1.7", "assumed 2.11")
def test_a_record_holds_no_number_not_even_of_a_test_card(sandbox):
    for row in CARDS.values():
        answer = pay(sandbox, card=in_fours(row.pan, " "))
        assert answer.json()["card"][:6] == row.pan[:6]

    kept = kept_by(sandbox) + repr(list(records_of(sandbox.sandbox.worlds.default)))

    assert [row.pan for row in CARDS.values() if row.pan in kept] == []


# --- where none belongs -----------------------------------------------------------------------


@pytest.mark.parametrize("number", [int(LIVE), float(TEST), [int(TEST)]])
def test_a_number_that_is_a_json_number_is_one_as_well(sandbox, number):
    answer = pay(sandbox, additional_details={"note": number})

    assert answer.status == 400
    assert LIVE not in kept_by(sandbox)
    assert TEST not in kept_by(sandbox)


@pytest.mark.parametrize(
    "body",
    [
        '{"amount":1,"terminal_id":"%s","additional_details":{"a":"%s"}}',
        '{"amount":1,"terminal_id":"%s","event_id":"%s"}',
        '{"amount":1,"terminal_id":"%s","x":{"\\u0061":"card %s"}}',
    ],
)
@pytest.mark.parametrize("spelt", [escaped(LIVE), escaped(LIVE[0]) + LIVE[1:], escaped(LIVE[:8])])
def test_escapes_do_not_hide_a_number(sandbox, body, spelt):
    whole = spelt if spelt != escaped(LIVE[:8]) else spelt + LIVE[8:]
    sent = (body % (terminal_id(sandbox, "merchant"), whole)).encode()

    answer = sandbox.ask("POST", "/v3/payment", key="partner", body=sent)

    assert answer.status == 400
    assert LIVE not in answer.body.decode()
    assert LIVE not in kept_by(sandbox)
    assert escaped(LIVE)[:24] not in kept_by(sandbox)


def test_a_number_in_the_outcome_header_or_as_the_name_of_a_parameter_is_not_repeated(sandbox):
    answer = pay(sandbox, outcome=in_fours(LIVE, " "))
    named = sandbox.ask("GET", "/v2/transactions", key="partner", query=f"{LIVE}=1")

    assert answer.status == 400
    assert LIVE not in digits_of(answer.body.decode())
    assert "555555******4444" in sandbox.journal(named)["notes"][0]
    assert LIVE not in kept_by(sandbox)
