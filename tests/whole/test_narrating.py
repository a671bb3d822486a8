"""What runs the documentation notices what goes wrong in it."""

import pytest

from tests.whole.narrating import Failed, Narrative


@pytest.fixture
def narrative(packages, installed, tmp_path):
    narrative = Narrative(tmp_path, installed, packages.wheel, packages.kit)
    yield narrative
    narrative.close()


def test_blocks_of_a_document_share_their_variables_and_files(narrative):
    narrative.shell("NAME=value; echo kept > file")

    assert narrative.shell("echo $NAME; cat file") == "value\nkept\n"


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ("echo before\nls nowhere\necho after", "before\nls: "),
        ("echo $UNKNOWN", "UNKNOWN: unbound variable"),
        ("ls nowhere | cat", "nowhere"),
        ("sandbox serve --port nothing", "'nothing' is not a valid integer"),
        ("sandbox tail --world nowhere", "nowhere"),
    ],
)
def test_a_command_that_fails_ends_its_block_with_what_it_said(narrative, block, said):
    narrative.shell("sandbox serve")

    with pytest.raises(Failed) as failed:
        narrative.shell(block)

    assert said in str(failed.value)
    assert "after" not in str(failed.value)


@pytest.mark.parametrize("run", [Narrative.shell, Narrative.step])
def test_a_request_that_is_refused_fails_with_the_answer(narrative, run):
    narrative.shell("sandbox serve")

    with pytest.raises(Failed, match="authentication_failed"):
        run(narrative, "curl -s http://127.0.0.1:8080/v5/apikeys")


def test_one_server_takes_the_place_of_the_other(narrative):
    narrative.shell("sandbox serve\nsandbox world new --id first")

    said = narrative.shell("sandbox serve --seed 7\nsandbox world list")

    assert "default" in said
    assert "first" not in said


def test_a_server_in_the_background_outlives_the_step_that_starts_it(narrative):
    wait = "curl -s --retry 30 --retry-connrefused --retry-delay 1 $SANDBOX_URL/_sandbox/health"
    url = "export SANDBOX_URL=http://127.0.0.1:8080\n"

    narrative.step(f"{url}sandbox serve --log-format json > log 2>&1 &\n{wait}")

    assert "default" in narrative.step(f"{url}sandbox world list")


def test_what_ends_only_when_it_is_interrupted_is_once_it_has_said_something(narrative):
    narrative.shell("sandbox serve")

    said = narrative.shell("sandbox listen http://127.0.0.1:9000/hook")

    assert said.startswith("Ready! ")
