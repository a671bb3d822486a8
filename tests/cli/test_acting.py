"""Who acts for a command at the platform, and which payment is meant."""

import pytest

from sandbox.cli.control_client import Remote, RemoteWorld
from sandbox.cli.output import Refused
from sandbox.cli.platform_client import Stage, open_stage
from tests.cli.asking import add_world

ABSENT = "00000000-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
def stage(served):
    world = add_world(served, "acting")
    return open_stage(RemoteWorld(Remote(url=served.url, token=None), world["id"]))


def sale(stage: Stage, name: str | None, amount: int = 1000) -> str:
    member = stage.member(name)
    body = {"amount": amount, "terminal_id": stage.terminal(None, member)}
    paid = stage.must(stage.ask(member, "POST", "/v3/payment", body))
    id: str = paid["transaction_id"]
    return id


def test_a_payment_is_found_by_its_id_its_beginning_or_as_the_last_with_its_owner(stage):
    first, second = sale(stage, None), sale(stage, "second_merchant")
    third = sale(stage, "surcharge_merchant")

    found = [stage.payment(named, None) for named in (first, second[:7], "last")]
    of_a_member = stage.payment("last", "second_merchant")

    assert [one.id for one in found] == [first, second, third]
    assert [one.member.key_name for one in found] == ["merchant", "second_merchant", "partner"]
    assert found[2].member.name == "surcharge_merchant"
    assert of_a_member.id == second
    assert stage.payment(ABSENT, None).id == ABSENT


def test_a_member_without_a_terminal_uses_the_merchant_s(stage):
    terminals = stage.world["terminals"]
    partner, read_only = stage.member("partner"), stage.member("merchant_read_only")

    assert stage.terminal(None, partner) == terminals["merchant"]
    assert stage.terminal(None, read_only) == terminals["merchant"]
    assert stage.terminal("tax_merchant", partner) == terminals["tax_merchant"]
    assert stage.terminal(ABSENT, partner) == ABSENT


def test_a_refusal_is_told_with_the_reason_in_the_journal(stage):
    other = stage.member("other_merchant")
    body = {"amount": 1000, "terminal_id": stage.world["terminals"]["merchant"]}
    reply = stage.ask(other, "POST", "/v3/payment", body)

    said = stage.refusal(reply)

    assert said.startswith("the platform answered 404 not_found: Terminal ")
    assert "outside the caller's hierarchy" in said


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda stage: stage.member("merchnt"), "did you mean 'merchant'?"),
        (lambda stage: stage.member("svc_live_" + "x" * 32), "--as: '****' is no member"),
        (lambda stage: stage.terminal("patio", stage.member(None)), "there are merchant,"),
        (lambda stage: stage.payment("zz", None), "whose id begins with 'zz'"),
        (lambda stage: stage.payment("", None), "payments have an id that begins with ''"),
    ],
    ids=("member", "key", "terminal", "payment", "several"),
)
def test_an_unknown_name_ends_the_command_with_what_is_known(stage, ask, words):
    with pytest.raises(Refused) as ended:
        ask(stage)

    assert ended.value.exit_code == 2
    assert words in ended.value.message
