"""The metrics of a server, in the format of Prometheus."""

import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.driving import InProcess, serving
from tests.webhooks.receiving import receiving

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "running-a-server.md"
SHARED = {"in_contact", "carried", "worlds_taken_over", "worlds_lost"}
"""What only a server says that shares worlds."""


def metrics(text: str) -> dict[str, dict[tuple[str, ...], float]]:
    """The values of all metrics, by name and by the values of their labels."""
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            name = sample.name.removeprefix("uat_sandbox_")
            found.setdefault(name, {})[tuple(sample.labels.values())] = sample.value
    return found


def read(sandbox: InProcess) -> dict[str, dict[tuple[str, ...], float]]:
    answer = sandbox.control("GET", "/metrics")
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return metrics(answer.body.decode())


@pytest.mark.proves("assumed D25-metrics")
def test_requests_are_counted_by_route_and_status(sandbox):
    assert [sandbox.pay(amount).status for amount in (100, 100, -1)] == [200, 200, 400]
    sandbox.get("/nowhere", by="merchant")
    sandbox.control("GET", "/worlds/nowhere")

    found = read(sandbox)

    requests = found["requests_total"]
    assert requests["payments.create", "200"] == 2
    assert requests["payments.create", "400"] == 1
    assert requests["none", "404"] == 1
    assert found["control_requests_total"]["worlds.read", "404"] == 1
    # The time of each is a histogram, whose last bucket has all.
    all_buckets = found["request_seconds_bucket"].items()
    buckets = [count for labels, count in all_buckets if "payments.create" in labels]
    assert buckets == sorted(buckets)
    assert buckets[-1] == found["request_seconds_count"]["payments.create",] == 3
    assert found["request_seconds_sum"]["payments.create",] > 0
    assert found["worlds"][()] == 1


def test_attempts_lags_and_writes_are_measured(tmp_path):
    with receiving() as receiver, serving("--store", str(tmp_path / "state.db")) as server:
        receiver.behave(lambda received: 500 if received.number == 0 else 200)
        server.control("POST", "/worlds/default/endpoints", json={"url": receiver.url})
        server.pay()
        server.control("POST", "/worlds/default/clock/advance", json={"by": "1h"})

        found = metrics(server.control("GET", "/metrics").text)

    assert found["attempts_total"]["failed",] == 1
    assert found["attempts_total"]["delivered",] >= 1
    assert found["delivery_lag_seconds_count"][()] >= 1
    assert found["write_seconds_count"][()] == found["worlds_written_together_count"][()] > 0


@pytest.mark.proves("assumed D25-metrics")
def test_the_guide_lists_all_metrics(sandbox):
    text = sandbox.control("GET", "/metrics").body.decode()
    served = {
        family.name.removeprefix("uat_sandbox_") for family in text_string_to_metric_families(text)
    }
    table = GUIDE.read_text(encoding="utf-8").partition("## Metrics")[2]
    listed = set(re.findall(r"^\| `uat_sandbox_(\w+?)(?:_total)?`", table, re.MULTILINE))

    assert listed == served | SHARED
