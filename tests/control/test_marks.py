"""Operators copy a world, rename it, mark a moment of it, and return there."""

import pytest

from tests.control.refusals import assert_refused
from tests.driving import InProcess
from tests.support.payments import paid_id, read

WORLD = "/worlds/default"
MARKS = f"{WORLD}/marks"


def mark(sandbox, name=""):
    answer = sandbox.control("POST", MARKS, {"name": name})
    assert answer.status == 201, answer.body
    return answer.json()


@pytest.mark.proves("assumed D25")
def test_a_world_returns_to_its_mark_as_often_as_one_likes(sandbox):
    id = paid_id(sandbox, operation="auth")
    first = mark(sandbox, "before")

    for _ in range(2):
        sandbox.control("POST", f"{WORLD}/clock/advance", {"by": "30d"})
        assert read(sandbox, id)["status"] == "canceled"
        answer = sandbox.control("POST", f"{MARKS}/{first['id']}/return")
        assert answer.json()["clock"]["now"] == first["now"] == "2026-03-01T12:00:00.000Z"
        assert read(sandbox, id)["status"] == "authorized"

    assert sandbox.control("GET", MARKS).json() == {"marks": [first], "total": 1}
    sandbox.control("POST", f"{WORLD}/reset")
    sandbox.control("POST", f"{MARKS}/{first['id']}/return")
    assert read(sandbox, id)["status"] == "authorized"


def test_ten_marks_are_kept_and_one_can_be_removed(sandbox):
    ids = [mark(sandbox)["id"] for _ in range(12)]

    kept = [one["id"] for one in sandbox.control("GET", MARKS).json()["marks"]]
    removed = sandbox.control("DELETE", f"{MARKS}/{kept[3]}")

    assert kept == ids[2:]
    assert removed.status == 204
    assert sandbox.control("GET", MARKS).json()["total"] == 9
    sandbox.control("DELETE", f"{MARKS}/{ids[-1]}")
    assert mark(sandbox)["id"] not in ids
    for method, path in (("DELETE", kept[3]), ("POST", f"{ids[0]}/return")):
        assert_refused(sandbox.control(method, f"{MARKS}/{path}"), 404, "not_found")


# --- copies -----------------------------------------------------------------------------------


@pytest.mark.proves("assumed D25")
def test_a_copy_has_the_same_data_and_goes_its_own_way(sandbox):
    id = paid_id(sandbox, operation="auth")
    names = {"id": "copy", "name": "A copy"}

    answer = sandbox.control("POST", f"{WORLD}/fork", names)
    numbered = sandbox.control("POST", f"{WORLD}/fork")
    copy = InProcess(sandbox.sandbox, world="copy")
    sandbox.control("POST", "/worlds/copy/clock/advance", {"by": "30d"})

    assert answer.status == numbered.status == 201
    assert (answer.json()["id"], answer.json()["name"]) == ("copy", "A copy")
    assert numbered.json()["id"].startswith("world-")
    assert (read(copy, id)["status"], read(sandbox, id)["status"]) == ("canceled", "authorized")
    assert set(answer.json()["keys"]) == set(sandbox.control("GET", WORLD).json()["keys"])
    keys = [one["key"] for one in answer.json()["keys"].values()]
    assert sandbox.key("merchant") not in keys


def test_a_world_is_renamed_and_stays_so(sandbox):
    renamed = sandbox.control("PATCH", WORLD, {"name": "Release 7"}).json()
    sandbox.control("POST", f"{WORLD}/reset")
    saved = sandbox.control("GET", f"{WORLD}/snapshot").json()

    assert renamed["name"] == "Release 7"
    assert sandbox.control("PUT", f"{WORLD}/snapshot", saved).json()["name"] == "Release 7"
