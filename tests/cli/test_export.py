"""`sandbox export`: a collection for Postman, and what the journal has.

tests/whole/test_postman.py runs the collection.
"""

import json
import tomllib

from tests.cli.asking import ask, assert_refused, told


def test_it_can_be_written_to_a_file_for_another_server_with_another_header(tmp_path):
    out, profile = tmp_path / "collection.json", tmp_path / "mine.toml"
    profile.write_text('api_key_header = "X-Own-Key"\n')

    options = ("--server", "http://127.0.0.1:9000/", "--profile", str(profile))
    said = told("export", "postman", "--out", str(out), *options)
    missing = str(tmp_path / "nowhere" / "collection.json")
    assert_refused(ask("export", "postman", "--out", missing), 2, "--out", "nowhere")

    assert str(out) in said
    shown = json.loads(out.read_text())
    variables = {one["key"]: one["value"] for one in shown["variable"]}
    assert variables["baseUrl"] == "http://127.0.0.1:9000"
    assert '"key": "X-Own-Key"' in out.read_text()
    assert "x-service-apikey" not in out.read_text().lower()


def test_requests_of_the_journal_are_written_as_a_file(shell, tmp_path):
    shell.get("/v5/apikeys", by="merchant")
    out = tmp_path / "requests.har"

    shown = shell("export requests")
    said = shell(f"export requests --as har --out {out}")
    whole = tmp_path / "whole.har"
    told = shell.json(f"export requests --as har --out {whole}")
    shell.paid(amount=100)
    scenario = tomllib.loads(shell("export requests --as scenario"))

    assert "$KEY_MERCHANT" in shown
    assert shell.view["keys"]["merchant"]["key"] not in shown
    assert said == f"wrote 1 request to {out}\n"
    assert len(json.loads(out.read_text(encoding="utf-8"))["log"]["entries"]) == 1
    assert whole.read_text(encoding="utf-8") == told["content"]
    assert [one["send"]["amount"] for one in scenario["example"]] == [100]
