"""The fixture `busy` is what the code invents: a month, played anew."""

from tools import busy_fixture


def test_the_file_is_what_the_code_writes_now():
    written = busy_fixture.FILE.read_text(encoding="utf-8")

    assert written == busy_fixture.content(), (
        "fixtures/busy.json is old: run `make golden` and commit"
    )
