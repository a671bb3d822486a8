"""Scenario files that cannot be read or used are refused with their path."""

import pytest

from sandbox.scenarios.parser import ScenarioError, read_scenario


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"name = ", "is not TOML: "),
        (b'name = "x"\nname = "y"', "is not TOML: "),
        (b"name = '\xff'", "is not UTF-8"),
        (b"", "name: Field required"),
        (
            b'name = "x"\n[[rule]]\nthen = {tims = 1}',
            "rule 1, then.tims: 'tims' is not a field here",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_path(tmp_path, content, said):
    path = tmp_path / "mine.toml"
    path.write_bytes(content)

    with pytest.raises(ScenarioError) as refused:
        read_scenario(path)

    assert str(refused.value).startswith(f"{path}: {said}")
    assert refused.value.nearest == ("times" if "tims" in said else None)


def test_a_file_that_is_not_there_or_is_a_folder_cannot_be_read(tmp_path):
    for path in (tmp_path / "nowhere.toml", tmp_path):
        with pytest.raises(ScenarioError) as refused:
            read_scenario(path)

        assert str(refused.value).startswith(f"{path}: cannot be read: ")
