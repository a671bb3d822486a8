"""What a run of `sandbox verify` made is deleted, whatever happens meanwhile."""

import itertools
import json
from collections.abc import Callable

import pytest

from sandbox.conformance.clients import HttpAnswer
from sandbox.conformance.probe_runner import Cleaner, read_register, register_file
from sandbox.conformance.probe_table import ProbeRequest as Asked
from sandbox.conformance.probe_table import probes_of
from sandbox.conformance.verification import Wanted
from sandbox.conformance.verification import ask as ask_platform
from sandbox.domain.profile import Profile
from tests.cli.asking import told
from tests.conformance.uat import RUN, Time, Uat
from tests.properties import IS_THOROUGH

PROBES = probes_of("looking")


def _once(trouble: Callable[[Callable[[], HttpAnswer]], HttpAnswer], *, at: int, times: int):
    """Trouble with some requests after the first key was asked for, and none later."""
    count = itertools.count()

    def answer(request: Asked, genuine: Callable[[], HttpAnswer]) -> HttpAnswer:
        return trouble(genuine) if at <= next(count) < at + times else genuine()

    return answer


def _interrupted(genuine: Callable[[], HttpAnswer]) -> HttpAnswer:
    genuine()
    raise KeyboardInterrupt


TROUBLE = {
    "429": lambda genuine: HttpAnswer(429, {"retry-after": "5"}, ""),
    "429 for an hour": lambda genuine: HttpAnswer(429, {"retry-after": "3600"}, ""),
    "500": lambda genuine: HttpAnswer(500, {}, "<html>"),
    "500 after it was done": lambda genuine: (genuine(), HttpAnswer(500, {}, ""))[1],
    "answer lost": lambda genuine: (genuine(), HttpAnswer(0, {}, "no answer"))[1],
    "page": lambda genuine: (genuine(), HttpAnswer(200, {}, "<html>please wait</html>"))[1],
}
LOOKED = sum(len(probe.requests) for probe in PROBES) + 1


@pytest.mark.thorough
@pytest.mark.parametrize("phase", ["keys", "directory"])
@pytest.mark.parametrize("trouble", TROUBLE.values(), ids=TROUBLE)
def test_nothing_is_left_on_a_platform_that_fails_for_a_while(trouble, phase, tmp_path):
    uat = Uat()
    for at in range(LOOKED, LOOKED + 5, 1 if IS_THOROUGH else 4):
        uat.trouble = _once(trouble, at=at, times=7)

        result, _ = uat.verify(tmp_path / str(at), phase)

        assert uat.left() == []
        assert {one["state"] for one in result["made"]} <= {"deleted"}
        assert result["requests"] > LOOKED


@pytest.mark.parametrize("at", range(LOOKED, LOOKED + 6))
def test_a_run_that_is_interrupted_deletes_what_it_made(at, tmp_path):
    uat = Uat()
    uat.trouble = _once(_interrupted, at=at, times=1)

    result, files = uat.verify(tmp_path, "keys")

    assert result["stopped"] == "it was interrupted"
    assert uat.left() == []
    assert "limit_above_maximum" in files["uat.toml"]


def test_what_a_dead_platform_keeps_is_named_and_deleted_by_a_later_run(tmp_path):
    uat = Uat()
    uat.trouble = _once(TROUBLE["answer lost"], at=LOOKED, times=1000)
    result, _ = uat.verify(tmp_path, "keys")
    assert [one["state"] for one in result["made"]] == ["intended"] * len(uat.left())
    assert uat.left() != []
    uat.trouble = lambda request, genuine: genuine()
    with register_file(tmp_path, RUN).open("a") as file:
        file.write('{"number": 9, "ki')

    register = read_register(tmp_path, RUN)
    left = Cleaner(register, uat.send, Time().pace(), uat.keys).clean()

    assert left == []
    assert uat.left() == []
    assert read_register(tmp_path, RUN).list_left() == []
    options = ("--clean", RUN, "--out", str(tmp_path), "--json")
    done = told("verify", "https://uat.example.com", *options, UAT_KEY=uat.keys["own"])
    assert json.loads(done) == {"run": RUN, "deleted": 0, "left": []}


def test_a_key_of_another_account_ends_the_run_before_anything_is_asked(tmp_path):
    uat = Uat()
    wanted = Wanted(run=RUN, allowed=["keys"], account=uat.account_id("second_merchant"))
    keys = uat.keys

    result, _ = ask_platform(uat.send, Profile(), wanted, Time().pace(), tmp_path, keys)

    assert "the key does not belong to account" in result["stopped"]
    assert len(uat.asked) == 1


def test_a_key_that_may_not_create_anything_decides_nothing_and_the_reason_is_given(tmp_path):
    uat = Uat()
    uat.keys["own"] = uat.key("merchant_read_only")

    result, _ = uat.verify(tmp_path, "keys")

    (one,) = [one for one in result["probes"] if one["id"] == "key_deletes_itself"]
    assert one["verdict"] == "cannot tell"
    assert one["why"] == "answers: 401"
    assert result["made"] == [
        {"kind": "key", "name": f"verify-{RUN}-{number}", "state": "deleted"}
        for number in range(1, len(result["made"]) + 1)
    ]


def test_the_files_of_a_run_have_each_query_whole_and_no_key(tmp_path):
    uat = Uat()
    _, files = uat.verify(tmp_path, "keys", "directory")

    stored = "".join(file.read_text() for file in tmp_path.iterdir())
    assert f'"account_id": ["{uat.account_id("merchant")}", "' in files["evidence.jsonl"]
    secrets = [request.key for request in uat.asked if request.key]
    assert secrets
    for secret in (*uat.keys.values(), *secrets):
        assert secret not in stored + "".join(files.values())
    assert "svc_uat_" not in stored + files["evidence.jsonl"]
