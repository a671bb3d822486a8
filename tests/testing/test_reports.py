"""The journal in the reports of failed tests: every world that the test used, and no other."""

import pytest

from tests.testing.pytesting import run_pytest

TESTS = """
import pytest

def pay(world, amount):
    body = {"amount": amount, "terminal_id": world.terminal()}
    return world.client().post("/v3/payment", json=body).json()

@pytest.fixture(scope="session")
def shop(sandbox_server):
    with sandbox_server.world(name="shop") as world:
        pay(world, 1111)
        yield world

def test_that_passes(shop):
    pay(shop, 2222)

def test_of_an_app_that_lives_for_the_session(shop):
    pay(shop, 3333)
    assert False

def test_that_does_not_use_the_session(sandbox):
    pay(sandbox, 4444)
    assert False

def test_after_a_reset(shop):
    shop.reset()
    pay(shop, 5555)
    assert False

def test_that_closes_its_worlds(sandbox_server):
    with sandbox_server.world() as world:
        pay(world, 6666)
    with sandbox_server.world() as world:
        pay(world, 7777)
        assert False

def test_whose_receiver_failed_first(sandbox):
    sandbox.webhooks.listen(["transaction.sale"])
    sandbox.webhooks.respond(500, times=1)
    pay(sandbox, 8888)
    sandbox.advance("1h")
    assert False

def test_a_typo(sandbox):
    sandbox.scenario("late_answr")
"""


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suite")
    (folder / "test_suite.py").write_text(TESTS)
    return run_pytest(folder, "test_suite.py").output


def report(output: str, test: str) -> str:
    return output.split(f" {test} ___", 1)[1].split("\n____", 1)[0].split("\n====", 1)[0]


@pytest.mark.parametrize(
    ("test", "amounts"),
    [
        ("test_of_an_app_that_lives_for_the_session", {"3333"}),
        ("test_that_does_not_use_the_session", {"4444"}),
        ("test_after_a_reset", {"5555"}),
        ("test_that_closes_its_worlds", {"6666", "7777"}),
    ],
)
def test_a_report_has_the_requests_of_the_test_in_all_its_worlds(output, test, amounts):
    journal = report(output, test).split("sandbox journal")[1]

    paid = {str(number) for number in range(1111, 9999, 1111) if f'"amount": {number}' in journal}

    assert paid == amounts


def test_every_attempt_of_a_webhook_is_told(output):
    assert "after 2 attempts (answered 500, then answered 200)" in report(
        output, "test_whose_receiver_failed_first"
    )


def test_a_mistake_is_told_once_at_the_line_of_the_test(output):
    said = report(output, "test_a_typo").split("sandbox journal")[0]

    assert said.count("did you mean 'late_answer'?") == 1
    assert "uat_sandbox/" not in said
    assert 'sandbox.scenario("late_answr")' in said
