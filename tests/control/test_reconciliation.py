"""Reports of the control API: the settlement of a batch, and reconciliation with a file."""

import csv
import io
import json
from collections import Counter

import pytest

from tests.control.refusals import assert_refused


def as_csv(*rows):
    """A file with the columns of the first row."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def compared(sandbox, text, **more):
    return sandbox.manage("POST", "/reconciliation", {"text": text, **more}).expect(200)


def row(tx, **changes):
    wanted = {"transaction_id": tx["transaction_id"], "amount": tx["total_amount"]}
    return wanted | {"status": tx["status"]} | changes


def kinds(found):
    return [(one["kind"], one["line"], one["there"], one["here"]) for one in found["differences"]]


# --- the settlement of a batch ----------------------------------------------------------------


@pytest.mark.proves("assumed D56")
def test_the_settlement_of_a_batch_is_csv_with_a_row_for_each_record(sandbox):
    sale, hold = sandbox.sold(2500), sandbox.held()
    sandbox.acted(sale, "refund", amount=400, event_id="back")
    sandbox.acted(hold, "capture", amount=900)
    sandbox.settled(sale["batch_id"])

    answer = sandbox.manage("GET", f"/batches/{sale['batch_id']}?format=csv")

    shown = sandbox.look(f"batches/{sale['batch_id']}")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.body.decode())))
    assert [(one["kind"], one["amount"], one["result"]) for one in rows] == [
        ("capture", "2500", "accepted"),
        ("refund", "400", "accepted"),
        ("capture", "900", "accepted"),
    ]
    assert [one["event_id"] for one in rows] == [one["event_id"] for one in shown["records"]]
    assert rows[1]["event_id"] == "back"
    assert rows[0]["transaction_id"] == sale["transaction_id"]
    assert {one["batch_status"] for one in rows} == {"accepted"}
    assert rows[0]["last4"] == sale["card"][-4:]
    assert sale["card"][:6] not in answer.body.decode()


def test_a_batch_without_records_is_a_header(sandbox):
    sale = sandbox.sold()
    sandbox.edit_batch(sale["batch_id"], removed_transactions=[sale["transaction_id"]])

    text = sandbox.manage("GET", f"/batches/{sale['batch_id']}?format=csv").body.decode()

    assert text.startswith("batch_id,batch_number,batch_status,")
    assert text.count("\n") == 1


def test_no_cell_is_a_formula_for_a_spreadsheet(sandbox):
    path = f"/batches/{sandbox.sold()['batch_id']}?format=csv"
    for name in ('=HYPERLINK("http://x")', "+1", "-1", "@SUM(A1)", "\tx"):
        sandbox.put(f"/v1/accounts/{sandbox.account_id('merchant')}", {"name": name})

        text = sandbox.manage("GET", path).body.decode()

        (shown,) = csv.DictReader(io.StringIO(text))
        assert shown["merchant"] == f"'{name}"


# --- reconciliation ---------------------------------------------------------------------------


@pytest.mark.proves("assumed D57")
def test_a_complete_file_has_no_difference(sandbox):
    payments = [sandbox.sold(), sandbox.held(700), sandbox.paid(outcome="do_not_honor")]
    rows = [row(tx) for tx in payments]

    for text in (
        as_csv(*rows),
        json.dumps(rows),
        json.dumps({"transactions": rows}),
        as_csv(*({"transaction_id": one["transaction_id"]} for one in rows)),
        # As a spreadsheet saves it: with a byte order mark, and empty columns.
        "\ufeff" + as_csv(*rows).replace(",", ";").replace("\r\n", ";;\r\n"),
        "\ufeff" + json.dumps(rows),
    ):
        found = compared(sandbox, text)
        assert (found["rows"], found["matched"], found["differences"]) == (3, 3, [])
        assert found["ignored_columns"] == []


@pytest.mark.proves("assumed D57")
def test_every_kind_of_difference_is_listed_with_its_line(sandbox):
    same, other, status, left_out = (sandbox.sold() for _ in range(4))
    text = as_csv(
        row(same),
        row(other, amount=999),
        row(status, status="settled", amount=1),
        row(same, transaction_id="not-here"),
    )

    found = compared(sandbox, text)

    assert kinds(found) == [
        ("other_amount", 3, 999, 1000),
        ("other_amount", 4, 1, 1000),
        ("other_status", 4, "settled", "captured"),
        ("missing_here", 5, 1000, None),
        ("missing_there", None, None, 1000),
    ]
    assert found["differences"][-1]["transaction_id"] == left_out["transaction_id"]
    assert (found["rows"], found["matched"]) == (4, 1)
    assert found["counts"] == Counter(kind for kind, *_ in kinds(found))


@pytest.mark.proves("assumed D57")
def test_a_file_of_event_ids_is_compared_attempt_by_attempt(sandbox):
    sale = sandbox.sold(event_id="sale")
    sandbox.acted(sale, "refund", amount=300, event_id="first")
    sandbox.acted(sale, "refund", amount=200, event_id="second")
    rows = [
        {"event_id": "sale", "amount": 1000, "status": "captured"},
        {"event_id": "first", "amount": 301, "status": ""},
    ]

    found = compared(sandbox, as_csv(*rows))

    assert kinds(found) == [("other_amount", 3, 301, 300), ("missing_there", None, None, 200)]
    assert found["differences"][-1]["event_id"] == "second"
    assert compared(sandbox, as_csv(*rows), status="declined")["counts"] == {"other_amount": 1}
    sandbox.settled(sale["batch_id"])
    refund = {"event_id": "second", "amount": 200, "status": "settled"}
    assert "other_status" not in compared(sandbox, as_csv(refund))["counts"]


def test_records_of_actions_are_transactions_like_others(sandbox):
    sandbox.choose(record_of_an_action="own")
    sale = sandbox.sold(event_id="sale")
    refund = sandbox.acted(sale, "refund", amount=300, event_id="back")

    assert compared(sandbox, as_csv(row(sale), row(refund)))["differences"] == []
    rows = [{"event_id": "sale", "amount": 1000}, {"event_id": "back", "amount": 300}]
    assert compared(sandbox, as_csv(*rows))["differences"] == []
    text = sandbox.manage("GET", f"/batches/{sale['batch_id']}?format=csv").body.decode()
    settlement = [one["transaction_id"] for one in csv.DictReader(io.StringIO(text))]
    assert settlement == [sale["transaction_id"], refund["transaction_id"]]


def test_a_file_of_one_account_batch_or_status_is_not_compared_with_others(sandbox):
    first = sandbox.sold(event_id="same")
    second = sandbox.sold(at="second_merchant", event_id="same")
    declined = sandbox.paid(outcome="do_not_honor")
    text = as_csv(row(first))

    assert compared(sandbox, text, account="merchant", status="captured")["differences"] == []
    assert compared(sandbox, text, batch=first["batch_id"])["differences"] == []
    counts = compared(sandbox, text)["counts"]
    assert counts == {"missing_there": 2}
    answer = sandbox.manage("POST", "/reconciliation", {"text": text, "batch": "no-such-batch"})
    assert_refused(answer, 400, "validation_error")
    both = as_csv(row(first), row(second), row(declined))
    assert compared(sandbox, both, status="captured")["differences"] == []
    # Each account chooses its event_ids by itself.
    text = as_csv({"event_id": "same"})
    assert compared(sandbox, text, batch=second["batch_id"], account="second_merchant")["matched"]
    answer = sandbox.manage("POST", "/reconciliation", {"text": text})
    assert_refused(answer, 400, "validation_error")
    assert "line 2: several transactions have the event_id 'same'" in answer.json()["message"]


def test_a_bad_file_is_refused_with_its_line_and_the_nearest_word(sandbox):
    for text, words, near in (
        ("transaction_id,amuont\nx,1\n", "line 2: there is no column 'amuont'", "amount"),
        ("transacton_id,amount\nx,1\n", "line 1: has no column transaction_id", "transaction_id"),
        ("id,amount\n", "line 1: has no column transaction_id or event_id", None),
        ("transaction_id,status\nx,captured\ny,captrued\n", "line 3: status:", "captured"),
        ("transaction_id,amount\nx,10.00\n", "line 2: amount: '10.00' is not a whole number", None),
        ("transaction_id,amount\nx,-1\n", "line 2: amount: '-1' is not a whole number", None),
        ("transaction_id,amount\nx,\u0661\n", "line 2: amount:", None),
        ("transaction_id,amount\n,1\n", "line 2: has neither", None),
        ("transaction_id,amount\nx,1\nx,1\n", "line 3: names the same as line 2", None),
        ("transaction_id,amount\nx,1,2\n", "line 2: has 3 values for 2 columns", None),
        ("transaction_id,amount,amount\nx,1,2\n", "line 1: has the column amount twice", None),
        ('transaction_id\n"x\n', "is not CSV", None),
        ("\n", "line 1: has no column", None),
        ("[1]", "line 1: is not an object", None),
        ("{}", "must be a list of objects", None),
        ("[", "is not JSON", None),
        ('[{"transaction_id": 7}]', "line 1: transaction_id: must be text", None),
        ('[{"transaction_id": "x", "amount": 1.5}]', "line 1: amount: '1.5'", None),
        ('[{"transaction_id": "x", "amount": -1}]', "line 1: amount: '-1'", None),
        ('[{"transaction_id": "x", "amount": true}]', "line 1: amount: 'True'", None),
        ('[{"transaction_id": "x", "statsu": "captured"}]', "line 1: there is no", "status"),
        ('[{"amount": 1}]', "line 1: has neither", None),
        ("transaction_id,card\nx,4000056655665556\n", "a card number is not allowed", None),
    ):
        answer = sandbox.manage("POST", "/reconciliation", {"text": text})

        assert_refused(answer, 400, "validation_error", near)
        assert words in answer.json()["message"], text
        assert b"4000056655665556" not in answer.body


def test_columns_of_other_names_are_not_compared_and_named(sandbox):
    sale = sandbox.sold()

    found = compared(sandbox, as_csv(row(sale, **{"order; no": "7"}, total_amount=5)))

    assert (found["differences"], found["ignored_columns"]) == ([], ["order; no", "total_amount"])
