"""The table of readings against the tests of this folder."""

from pathlib import Path

from sandbox.domain.readings import READINGS

HERE = Path(__file__).parent


def test_a_test_chooses_every_value_of_every_reading_but_the_default():
    # What the defaults do, tests of the other folders say.
    texts = [path.read_text(encoding="utf-8") for path in HERE.glob("test_*.py")]
    for id, reading in READINGS.items():
        about_it = "".join(text for text in texts if id in text)
        values = [value for value in reading.names if value != reading.default]
        assert [value for value in values if f'"{value}"' not in about_it] == [], id


def test_every_reading_has_a_clause_of_its_own():
    assert len({reading.clause for reading in READINGS.values()}) == len(READINGS)
