"""`sandbox batch` and `sandbox switch`: settlement and readings of the spec, from a shell."""

import json

import pytest

from tests.cli.asking import add_world, ask, assert_refused, told


@pytest.fixture(scope="module")
def at(served):
    world = add_world(served, "batches", switches={"batch.settlement": "manual"})
    return ("--world", world["id"])


def test_a_batch_is_closed_answered_and_listed_without_its_id(served, at):
    told("pay", "10", *at, server=served)
    told("batch", "open", "--as", "other_merchant", *at, server=served)
    second = told("pay", "20", *at, server=served)
    closed = told("batch", "close", *at, server=served)
    options = ("--rejected", second[:8])
    told("batch", "answer", "last", "partially_accepted", *options, *at, server=served)
    (listed,) = json.loads(told("batch", "list", "--json", *at, server=served))["batches"]
    headers, row = told("batch", "list", *at, server=served).splitlines()

    id, status, *words = closed.split()
    assert (status, words[:4]) == ("submitted", ["2", "payments", "captured", "30.00"])
    assert (listed["id"], listed["status"]) == (id, "partially_accepted")
    assert headers.split()[0] == "batch"
    assert row.split()[:2] == [id, "partially_accepted"]


def test_a_batch_of_another_member_is_closed_by_the_beginning_of_its_id(served, at):
    paid = told("pay", "10", "--as", "surcharge_merchant", *at, server=served)
    told("confirm", paid.split()[0], "yes", *at, server=served)
    opened = told("batch", "open", "--as", "second_merchant", *at, server=served)
    id = opened.split()[0]
    with_terminal = told("batch", "list", "--terminal", "second_merchant", *at, server=served)
    surcharged = told("batch", "close", "--as", "surcharge_merchant", *at, server=served)
    closed = told("batch", "close", id[:10], *at, server=served)
    rejected = told("batch", "answer", id, "rejected", "--reason", "comms", *at, server=served)

    assert " open  0 payments" in opened
    assert with_terminal == "merchant sees no batch\n"
    assert "submitted  1 payment " in surcharged
    assert closed.split()[:2] == [id, "submitted"]
    assert "COMMUNICATIONS ERROR" in rejected


def test_switches_are_listed_shown_and_set(served, at):
    values = json.loads(told("switch", "--json", *at, server=served))
    name = "triggers.enabled"
    before = told("switch", name, *at, server=served)
    after = told("switch", name, "false", *at, server=served)
    table = told("switch", *at, server=served)
    scale = json.loads(told("switch", "latency.scale", "0.5", "--json", *at, server=served))

    assert values["batch.settlement"] == "manual"
    assert (before, after, scale) == ("true\n", "false\n", {"latency.scale": 0.5})
    assert any(line.split()[:2] == [name, "false"] for line in table.splitlines())


# --- reports ----------------------------------------------------------------------------------


def test_the_settlement_of_a_batch_is_printed_and_written(served, tmp_path):
    at = ("--world", add_world(served, "settlement")["id"])
    paid = told("pay", "10", *at, server=served).split()[0]
    told("batch", "close", *at, server=served)
    file = tmp_path / "settlement.csv"

    shown = told("batch", "report", "last", *at, server=served)
    printed = told("batch", "report", "last", "--csv", *at, server=served)
    told("batch", "report", "last", "--output", str(file), *at, server=served)

    headers, row, about = shown.splitlines()
    assert headers.split()[:3] == ["transaction", "kind", "amount"]
    assert row.split()[:3] == [paid, "capture", "10.00"]
    assert "accepted: the processor settled all" in about
    assert printed.splitlines() == file.read_text().splitlines()
    assert f",{paid}," in printed
    assert len(json.loads(told("batch", "report", "last", "--json", *at, server=served))) == 5


def test_reconcile_ends_with_1_if_there_are_differences(served, tmp_path):
    at = ("--world", add_world(served, "books")["id"])
    paid = told("pay", "10", *at, server=served).split()[0]
    file = tmp_path / "books.csv"
    file.write_text(f"transaction_id,amount,status\n{paid},1000,captured\n")

    same = ask("reconcile", str(file), *at, server=served)
    file.write_text(f"transaction_id,amount,status\n{paid},999,captured\n")
    other = ask("reconcile", str(file), *at, server=served)
    as_json = ask("reconcile", str(file), "--json", *at, server=served)
    file.write_text("transaction_id,amuont\nx,1\n")

    assert (same.exit_code, same.stdout) == (
        0,
        "1 row, 1 as in the sandbox; 0 differences\n",
    )
    assert other.exit_code == as_json.exit_code == 1
    assert other.stdout.splitlines()[1].split() == [
        "other",
        "amount",
        "2",
        paid,
        "-",
        "999",
        "1000",
    ]
    assert json.loads(as_json.stdout)["counts"] == {"other_amount": 1}
    bad = ask("reconcile", str(file), *at, server=served)
    assert_refused(bad, 2, "line 2: there is no column 'amuont'; did you mean 'amount'?")
