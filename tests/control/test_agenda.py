"""The agenda tells what falls due, and it tells the truth: what it says is what then happens."""

import pytest

from sandbox.control import clock as control_agenda
from sandbox.domain.clock import TIMER_KINDS
from tests.directory.making import location_id
from tests.scenarios.running import running
from tests.support.payments import ask, paid_id, pay, read
from tests.webhooks.calling import add

WORLD = "/worlds/default"
AGENDA = f"{WORLD}/agenda"


def agenda(sandbox, query=""):
    answer = sandbox.control("GET", AGENDA, query=query)
    assert answer.status == 200, answer.body
    return answer.json()


def advance(sandbox, to):
    return sandbox.control("POST", f"{WORLD}/clock/advance", {"to": to}).json()


@pytest.mark.proves("assumed F21")
def test_what_it_says_about_payments_is_what_then_happens(sandbox):
    ids = [
        paid_id(sandbox, operation="auth", card="tok_amex"),
        paid_id(sandbox, operation="auth", card="tok_visa_credit"),
        paid_id(sandbox, at="surcharge_merchant"),
    ]
    told = [one for one in agenda(sandbox)["agenda"] if one["subject"]["id"] in ids]

    fired = advance(sandbox, told[-1]["due"])["fired"]

    assert [one["subject"]["id"] for one in told] == [ids[2], ids[1], ids[0]]
    assert [(one["due"], one["kind"]) for one in told] == [(f["at"], f["kind"]) for f in fired]
    for one in told:
        tx = read(sandbox, one["subject"]["id"])
        assert one["then"] == {"status": tx["status"], "status_reason": tx["status_reason"]}
    assert [one["clause"] for one in told] == ["assumed F4", "assumed F21", "assumed F21"]


def test_a_payment_s_amount_is_told_in_its_own_currency(sandbox):
    shop = f"/v1/locations/{location_id(sandbox, 'merchant')}"
    for currency, written in (("USD", "79.42 USD"), ("JPY", "7942 JPY"), ("BHD", "7.942 BHD")):
        ask(sandbox, "PUT", shop, {"currency": currency})
        id = paid_id(sandbox, 7942, operation="auth")

        (one,) = agenda(sandbox, f"subject={id}")["agenda"]

        assert one["subject"]["says"] == f"auth of {written}"
        assert (one["subject"]["amount"], one["subject"]["currency"]) == (7942, currency)
    for key in agenda(sandbox, "kind=key_expires")["agenda"]:
        assert (key["subject"]["amount"], key["subject"]["currency"]) == (None, None)


@pytest.mark.proves("assumed D24")
@pytest.mark.parametrize(
    ("first", "outcome"),
    [("processor_timeout", "approved"), ("pending_forever", "insufficient_funds")],
)
def test_a_late_answer_leads_where_the_agenda_says(sandbox, first, outcome):
    late = {"do": "late_answer", "outcome": outcome}
    follow = [late | {"after": after} for after in ("40s", "60s")]
    running(sandbox, {"then": {"outcome": first, "times": 1, "follow": follow}})
    id = paid_id(sandbox)
    told = agenda(sandbox, f"subject={id}")["agenda"][0]

    sandbox.control("POST", f"{WORLD}/clock/advance", {"by": "50s"})
    tx = read(sandbox, id)
    rest = agenda(sandbox, f"subject={id}")["agenda"]

    assert told["says"] == f"the processor answers late: {outcome}"
    assert told["then"] == {"status": tx["status"], "status_reason": tx["status_reason"]}
    assert [one["then"] for one in rest if one["kind"] == "late_answer"] == [None]
    assert rest[0]["says"] == f"nothing happens: the payment is {tx['status']} by now"


@pytest.mark.proves("assumed D4")
def test_the_result_of_a_batch_is_told_before_it_comes(sandbox):
    batch_id = read(sandbox, paid_id(sandbox))["batch_id"]
    planned = {"batch": "rejected", "reason": "hash_mismatch", "after": "1h"}
    running(sandbox, {"when": {"operation": "close_batch"}, "then": planned})
    sandbox.ask("POST", f"/v1/batches/{batch_id}/close", key="partner", json_body={})
    (one,) = agenda(sandbox, f"subject={batch_id}")["agenda"]

    advance(sandbox, one["due"])
    batch = sandbox.ask("GET", f"/v1/batches/{batch_id}", key="partner").json()

    assert (one["kind"], one["subject"]["kind"]) == ("batch_result", "batch")
    assert one["then"] == {"status": "rejected", "status_reason": "hash_mismatch"}
    assert batch["status"] == "rejected"


def test_keys_and_terminals_are_told_by_name(sandbox):
    follow = [
        {"after": "1m", "do": "revoke_key"},
        {"after": "1m", "do": "block_terminal"},
        {"after": "2m", "do": "unblock_terminal"},
    ]
    running(sandbox, {"then": {"outcome": "approved", "times": 1, "follow": follow}})
    pay(sandbox)
    told = {one["kind"]: one for one in agenda(sandbox)["agenda"]}

    assert told["revoke_key"]["subject"]["says"] == "Demo partner key"
    assert told["revoke_key"]["then"] == {"status": "revoked", "status_reason": None}
    assert told["block_terminal"]["then"]["status"] == "blocked"
    assert told["unblock_terminal"]["then"]["status"] == "active"
    assert told["key_expires"]["then"] is None
    sandbox.control("POST", f"{WORLD}/clock/advance", {"by": "90s"})
    (back,) = agenda(sandbox, "kind=unblock_terminal")["agenda"]
    assert (back["then"]["status"], back["clause"]) == ("active", "spec 6.3-terminal.unblocked")


def test_it_is_filtered_counted_and_read_in_pages(sandbox):
    add(sandbox)
    ids = [paid_id(sandbox, operation="auth") for _ in range(3)]
    whole = agenda(sandbox, "kind=authorization_expires")

    first = agenda(sandbox, "kind=authorization_expires&limit=2")
    rest = agenda(sandbox, f"kind=authorization_expires&limit=2&after={first['next']}")
    until = agenda(sandbox, f"until={whole['agenda'][0]['due']}")

    assert [one["subject"]["id"] for one in first["agenda"] + rest["agenda"]] == ids
    assert (whole["total"], whole["by_kind"]) == (3, {"authorization_expires": 3})
    assert (first["next"] is None, rest["next"]) == (False, None)
    assert until["agenda"] == agenda(sandbox)["agenda"][: until["total"]]
    assert agenda(sandbox, f"subject={ids[1]}")["total"] == 1


def test_every_kind_of_timer_can_be_told():
    assert set(control_agenda._TELLS) == TIMER_KINDS
