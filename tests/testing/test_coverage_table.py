"""Merging what several worlds saw, and the table of it."""

from uat_sandbox.coverage import merged, table

ONE = {
    "operations": {"exercised": {"a": 1, "b": 2}, "never": ["c", "d"]},
    "status_reasons": {"exercised": {}, "never": ["x"]},
}
OTHER = {
    "operations": {"exercised": {"b": 3, "d": 1}, "never": ["a", "c"]},
    "status_reasons": {"exercised": {"x": 1}, "never": []},
}


def test_counts_are_added_and_never_is_what_none_of_them_has():
    assert merged([ONE, OTHER]) == {
        "operations": {"exercised": {"a": 1, "b": 5, "d": 1}, "never": ["c"]},
        "status_reasons": {"exercised": {"x": 1}, "never": []},
    }


def test_the_table_shows_how_much_was_used_and_what_never_was():
    assert table({}) == []
    assert table({"scenarios": {"exercised": {}, "never": []}}) == ["scenarios     0 of 0"]
    assert table(ONE) == [
        "operations         2 of 4     50 %",
        "                never: c, d",
        "status reasons     0 of 1      0 %",
        "                never: x",
    ]


def test_long_lists_are_cut_and_wrapped():
    names = [f"name-{number:02}" for number in range(40)]

    lines = table({"events": {"exercised": {}, "never": names}}, names_max=12)

    assert lines[0] == "events     0 of 40     0 %"
    assert lines[1].startswith("        never: name-00, name-01,")
    assert lines[-1].endswith("name-11 and 28 more")
    assert max(map(len, lines)) <= 100
