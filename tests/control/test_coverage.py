"""What was exercised, and what never was."""

import pytest

from sandbox.app import build
from sandbox.domain.events import EVENTS
from sandbox.domain.faults import FAULTS, MISDIRECTED
from sandbox.domain.payments.outcomes import OUTCOMES
from sandbox.domain.payments.transactions import STATUS_REASONS, STATUSES
from sandbox.domain.payments.transitions import TRANSITIONS
from sandbox.platform.routes import OPERATIONS
from sandbox.settings import Settings
from tests.control.refusals import assert_refused
from tests.driving import InProcess, fresh

SECTIONS = [
    *("operations", "answers", "statuses", "status_reasons"),
    *("events", "refusals", "scenarios", "outcomes"),
]
NOTHING: dict[str, dict[str, int]] = {section: {} for section in SECTIONS}


def exercised(sandbox: InProcess, world: str | None = "default") -> dict[str, dict[str, int]]:
    path = "/coverage" if world is None else f"/worlds/{world}/coverage"
    return {name: section["exercised"] for name, section in sandbox.look(path).items()}


def total(sandbox: InProcess) -> dict[str, dict[str, int]]:
    return exercised(sandbox, None)


# --- what there is to exercise ----------------------------------------------------------------


@pytest.mark.parametrize("world", ["default", None])
def test_at_first_nothing_is_covered_and_every_table_is_listed_as_never(sandbox, world):
    shown = sandbox.look("/coverage" if world is None else "coverage")

    listed = sandbox.look("/scenarios")["scenarios"]
    outcomes = sandbox.look("/outcomes")
    never = {name: section["never"] for name, section in shown.items()}
    assert list(shown) == SECTIONS
    assert [list(section) for section in shown.values()] == [["exercised", "never"]] * 8
    assert exercised(sandbox, world) == NOTHING
    assert never == {
        "operations": [row.name for row in OPERATIONS if row.run is not None],
        "answers": [],
        "statuses": list(STATUSES),
        "status_reasons": list(STATUS_REASONS),
        "events": list(EVENTS),
        # What is refused for its host reaches nothing that counts.
        "refusals": list(dict.fromkeys(one.code for one in FAULTS if one is not MISDIRECTED)),
        "scenarios": [one["name"] for one in listed],
        "outcomes": [one["key"] for one in (*outcomes["outcomes"], *outcomes["faults"])],
    }
    # The retired operation is none.
    assert len(never["operations"]) == len(set(never["operations"])) == len(OPERATIONS) - 1


def test_every_reason_and_status_that_a_payment_can_have_is_in_the_tables():
    reasons = {row.status_reason for row in OUTCOMES.values()} | {row.reason for row in TRANSITIONS}
    shown = {row.next_status for row in TRANSITIONS} | {row.shown_status for row in TRANSITIONS}

    assert reasons - set(STATUS_REASONS) == {"as answered"}
    assert shown - set(STATUSES) == {"", "as answered", "same"}


# --- what was exercised -----------------------------------------------------------------------


def test_a_sale_is_counted_in_every_section_that_it_belongs_to(sandbox):
    before = sandbox.look("coverage")
    sandbox.pay()
    sandbox.pay()

    after = sandbox.look("coverage")

    assert exercised(sandbox) == NOTHING | {
        "operations": {"payments.create": 2},
        "answers": {"payments.create 200": 2},
        "statuses": {"pending": 2, "captured": 2},
        "status_reasons": {"approved": 2, "pending": 2},
        "events": {"transaction.sale": 2, "transaction.create": 2, "batch.opened": 1},
        "outcomes": {"approved": 2},
    }
    for name in SECTIONS:
        left = [one for one in before[name]["never"] if one not in after[name]["exercised"]]
        assert after[name]["never"] == left


def test_payments_that_settle_are_counted_once_each(sandbox):
    refunded, kept, other = (sandbox.paid_id() for _ in range(3))
    sandbox.act(refunded, "refund")

    sandbox.close_batch(sandbox.read(kept)["batch_id"])
    # An attempt that fails is counted as it shows itself.
    sandbox.act(kept, "refund", outcome="refund_declined")
    sandbox.act(other, "refund", amount=100)

    counted = exercised(sandbox)
    assert counted["statuses"] == {
        "pending": 3,
        "captured": 3,
        # Of these the last is a refund in part, which leaves its payment settled.
        "settled": 2 + 1,
        "refunded": 1,
        "declined": 1,
    }
    assert counted["status_reasons"]["declined"] == 1
    assert counted["outcomes"]["refund_declined"] == 1
    assert counted["events"]["batch.accepted"] == 1


def test_a_transport_fault_is_counted_beside_the_outcome_that_it_leaves():
    for fault, outcomes, answer, refusals in (
        ("http_503", {"http_503": 1}, "payments.create 503", {"unavailable": 1}),
        ("http_500", {"http_500": 1}, "payments.create 500", {"internal_error": 1}),
        ("malformed_json", {"approved": 1, "malformed_json": 1}, "payments.create 200", {}),
    ):
        sandbox = fresh()
        sandbox.pay(outcome=fault)

        counted = exercised(sandbox)

        assert (counted["outcomes"], counted["refusals"]) == (outcomes, refusals)
        assert counted["answers"] == {answer: 1}


# --- scenarios --------------------------------------------------------------------------------


def test_scenarios_of_the_library_and_own_ones_are_counted_by_name_and_again_after_a_reset(sandbox):
    library = sandbox.look("/scenarios")["scenarios"]
    first, second = library[0], library[1]
    for wanted in (first["name"], second["title"], first["name"]):
        sandbox.manage("PUT", "/scenario", {"name": wanted})
    sandbox.manage("PUT", "/scenario", {"name": "My own", "rule": []})

    shown = sandbox.look("coverage")["scenarios"]
    sandbox.reset()

    assert shown["exercised"] == {first["name"]: 2, second["name"]: 1, "My own": 1}
    assert shown["never"] == [one["name"] for one in library[2:]]
    assert exercised(sandbox)["scenarios"] == {"My own": 1}
    assert total(sandbox)["scenarios"] == shown["exercised"] | {"My own": 2}


def test_a_part_of_a_key_in_the_name_of_a_scenario_is_masked(sandbox):
    """A whole one is refused."""
    key = sandbox.key("merchant")[:-1]
    sandbox.manage("PUT", "/scenario", {"name": f"with {key}", "rule": []})

    (name,) = exercised(sandbox)["scenarios"]

    assert name.startswith("with ")
    assert key not in name


# --- whose it is ------------------------------------------------------------------------------


def test_requests_without_a_world_or_operation_count_as_refusals_only(sandbox):
    sandbox.ask("GET", "/v5/apikeys")
    sandbox.get("/v5/apikeys", by="svc_uat_nobody0has1it_" + "a" * 40)
    sandbox.ask("GET", "/v5/nothing")
    sandbox.get("/v5/nothing", by="merchant")

    assert exercised(sandbox) == NOTHING
    assert total(sandbox) == NOTHING | {"refusals": {"authentication_failed": 2, "not_found": 2}}
    # A key that is known and not usable belongs to its world. The search by POST is retired.
    sandbox.get("/v5/apikeys", by="revoked")
    sandbox.put("/v5/apikeys", {}, by="merchant")
    sandbox.post("/v1/transactions/search", {})
    assert exercised(sandbox) == NOTHING | {
        "operations": {"apikeys.list": 1},
        "answers": {"apikeys.list 401": 1},
        "refusals": {"authentication_failed": 1, "method_not_allowed": 2},
    }


def test_a_world_that_begins_again_or_is_gone_counts_nothing_and_the_total_keeps_all():
    ticks = [0.0]
    sandbox = InProcess(build(Settings(), ticks=lambda: ticks[0]))
    mine = sandbox.add_world("mine")
    saved = mine.saved()
    sandbox.get("/v5/apikeys", by="merchant")
    for method, path, body in (
        ("POST", "/worlds/mine/reset", b""),
        ("PUT", "/worlds/mine/snapshot", saved),
        ("DELETE", "/worlds/mine", b""),
    ):
        mine.pay()
        before = total(sandbox)
        assert exercised(sandbox, "mine")["statuses"] == {"pending": 1, "captured": 1}
        assert exercised(sandbox)["operations"] == {"apikeys.list": 1}

        assert sandbox.ask(method, f"/_sandbox{path}", body=body).status in (200, 204)

        assert total(sandbox) == before
        if method in ("POST", "PUT"):
            assert exercised(sandbox, "mine") == NOTHING
    assert_refused(sandbox.control("GET", "/worlds/mine/coverage"), 404, "unknown_world")
    sandbox.add_world("mine")
    mine.pay()
    before = total(sandbox)
    ticks[0] = 90_000.0
    assert sandbox.look("/worlds")["total"] == 1
    assert total(sandbox) == before


def test_content_of_a_fixture_is_not_covered(sandbox):
    sandbox.add_world("mine", fixture="busy", clock=None)

    assert sandbox.look("/worlds/mine/messages")["total"] > 0
    assert exercised(sandbox, "mine") == NOTHING
