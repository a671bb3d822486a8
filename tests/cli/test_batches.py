"""`sandbox batch`, `reconcile`, `switch` and `readings`: settlement and how the spec is read."""

import json

import pytest

from tests.cli.asking import Shell, shell_in


@pytest.fixture(scope="module")
def manual(served) -> Shell:
    """A world whose batches get no result by themselves."""
    return shell_in(served, "batches", switches={"batch.settlement": "manual"})


def test_a_batch_is_closed_answered_and_listed_without_its_id(manual):
    manual("pay 10")
    manual("batch open --as other_merchant")
    second = manual("pay 20")
    id, status, *words = manual("batch close").split()
    manual(f"batch answer last partially_accepted --rejected {second[:8]}")
    (listed,) = manual.json("batch list")["batches"]
    headers, row = manual("batch list").splitlines()
    nothing = manual("batch list --terminal second_merchant")
    manual("pay 10 --as second_merchant")
    other = manual("batch close --as second_merchant").split()[0]
    waiting = manual("refund last 1")
    rejected = manual(f"batch answer {other[:10]} rejected --reason comms")

    assert (status, words[:4]) == ("submitted", ["2", "payments", "captured", "30.00"])
    assert " ".join(words).endswith("next: sandbox batch answer last accepted")
    assert (listed["id"], listed["status"]) == (id, "partially_accepted")
    assert headers.split()[0] == "batch"
    assert row.split()[:2] == [id, "partially_accepted"]
    assert row.endswith("1 accepted, 1 rejected")
    assert nothing == "merchant sees no batch\n"
    assert waiting.endswith(f"  next: sandbox batch answer {other[:8]} accepted\n")
    assert "COMMUNICATIONS ERROR" in rejected


def test_the_settlement_of_a_batch_is_printed_and_written(shell, tmp_path):
    paid = shell("pay 10").split()[0]
    shell("batch close")
    file = tmp_path / "settlement.csv"

    headers, row, about = shell("batch report last").splitlines()
    printed = shell("batch report last --csv")
    shell(f"batch report last --output {file}")
    shell("pay 10 --as second_merchant")
    theirs = shell("batch close --as second_merchant")

    assert headers.split()[:3] == ["transaction", "kind", "amount"]
    assert row.split()[:3] == [paid, "capture", "10.00"]
    assert "accepted: the processor settled all" in about
    assert printed.splitlines() == file.read_text().splitlines()
    assert f",{paid}," in printed
    assert theirs.endswith("sandbox batch list --as second_merchant\n")
    assert len(shell.json("batch report last")) == 5
    world = json.loads(shell.saved())
    batch, opened, content = world["batches"]["0"], world["messages"]["1"], world["records"]["1"]
    for number in range(2, 1_004):
        id, message = f"{number:08}{batch['id'][8:]}", f"msg_{number:027}"
        world["batches"][str(number)] = batch | {"_id": id, "id": id}
        world["messages"][f"{number}0"] = opened | {"_id": message, "id": message, "subject": id}
        world["records"][f"{number}0"] = content | {"_id": message}
    shell.load(json.dumps(world).encode()).expect(200)
    assert shell("batch list").endswith("\nand 503 more; --terminal lists those of one terminal\n")
    assert f",{paid}," in shell(f"batch report {batch['id'][:8]} --csv"), "a thousand are newer"


def test_reconcile_ends_with_1_if_there_are_differences(shell, tmp_path):
    paid = shell("pay 10").split()[0]
    file = tmp_path / "books.csv"

    file.write_text(f"transaction_id,amount,status\n{paid},1000,captured\n")
    assert shell(f"reconcile {file}") == "1 row, 1 as in the sandbox; 0 differences\n"
    file.write_text(f"transaction_id,amount,status\n{paid},999,captured\n")
    other, as_json = shell.invoke(f"reconcile {file}"), shell.invoke(f"reconcile {file} --json")
    assert other.exit_code == as_json.exit_code == 1
    assert other.stdout.splitlines()[1].split() == f"other amount 2 {paid} - 999 1000".split()
    assert '"other_amount": 1' in as_json.stdout
    file.write_text("transaction_id,amuont\nx,1\n")
    words = "line 2: there is no column 'amuont'; did you mean 'amount'?"
    shell.refuses(f"reconcile {file}", 2, words)
    file.write_text("transaction_id\n" + "x" * 2**20)
    shell.refuses(f"reconcile {file}", 2, "larger than 1 MiB")


# --- settings -----------------------------------------------------------------------------------


def test_switches_are_listed_shown_and_set(manual):
    name = "triggers.enabled"
    before, after = manual(f"switch {name}"), manual(f"switch {name} false")
    table = manual("switch")

    assert manual.json("switch")["batch.settlement"] == "manual"
    assert (before, after) == ("true\n", "false\n")
    assert manual.json("switch latency.scale 0.5") == {"latency.scale": 0.5}
    assert any(line.split()[:2] == [name, "false"] for line in table.splitlines())


def test_readings_are_shown_chosen_and_returned_to_the_profiles(shell):
    chosen = shell("readings key_deletes_itself=refused")
    shown = shell.json("readings")
    shell("readings key_deletes_itself=null")
    misspelt = shell.invoke("readings limit_above_maximum=clampd")

    assert "refused" in chosen
    assert shown["key_deletes_itself"] == "refused"
    assert shell.json("readings")["key_deletes_itself"] == "allowed"
    assert misspelt.exit_code == 2
    assert misspelt.stderr.count("did you mean 'clamped'?") == 1
