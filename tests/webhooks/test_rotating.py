"""An endpoint gets a new secret, and the old one signs beside it for a while.

Source: assumed D22.
"""

from datetime import timedelta

import pytest

from sandbox.webhooks.signing import write_secret
from tests.control.refusals import assert_refused
from tests.webhooks.calling import ENDPOINTS, add, shown
from tests.webhooks.hooked import START
from tests.webhooks.receiving import receiving

SECRET = write_secret(b"k" * 32)
OTHER_SECRET = write_secret(b"o" * 32)
PRODUCTION_KEY = "svc_live_abcdefghijkl_abcdefghijklmnopqrstuvwxyz012345"


@pytest.mark.parametrize("grace", [{}, {"grace_s": None}, {"grace_s": 0}, {"grace_s": 604_800}])
def test_a_secret_is_rotated_to_a_new_or_a_given_one(sandbox, grace):
    before = add(sandbox, secret=SECRET)
    path = f"{ENDPOINTS}/{before['id']}/rotate-secret"

    drawn = sandbox.control("POST", path, grace)
    given = sandbox.control("POST", path, grace | {"secret": OTHER_SECRET})

    assert (drawn.status, given.status) == (200, 200)
    assert drawn.json()["secret"] not in (SECRET, OTHER_SECRET)
    assert drawn.json() | {"secret": SECRET, "old_secrets": []} == before
    old = [one["secret"] for one in given.json()["old_secrets"]]
    assert old == ([] if grace == {"grace_s": 0} else [drawn.json()["secret"], SECRET])
    assert given.json()["secret"] == OTHER_SECRET


@pytest.mark.parametrize(
    "body",
    [
        {"grace_s": -1},
        {"grace_s": 604_801},
        {"grace_s": "5"},
        {"secret": "short"},
        {"secret": PRODUCTION_KEY},
        {"secrets": SECRET},
    ],
    ids=str,
)
def test_a_rotation_that_cannot_be_is_a_400_and_the_secret_stays(sandbox, body):
    before = add(sandbox)

    answer = sandbox.control("POST", f"{ENDPOINTS}/{before['id']}/rotate-secret", body)

    nearest = "secret" if "secrets" in body else None
    assert_refused(answer, 400, "validation_error", nearest)
    assert shown(sandbox, before["id"]) == before


def test_at_most_ten_old_secrets_sign_at_a_time(sandbox):
    path = f"{ENDPOINTS}/{add(sandbox)['id']}/rotate-secret"
    answers = [sandbox.control("POST", path).status for _ in range(11)]

    at_once = sandbox.control("POST", path, {"grace_s": 0})

    assert answers == [200] * 10 + [409]
    assert at_once.status == 200


# --- what signs -------------------------------------------------------------------------------


def rotate(hooked, id, **body):
    return hooked.ask("POST", f"/endpoints/{id}/rotate-secret", body, status=200).json()["secret"]


@pytest.mark.proves("assumed D22")
@pytest.mark.parametrize(("grace", "grace_s"), [({}, 86_400), ({"grace_s": 90}, 90)])
def test_the_old_secret_signs_along_until_its_grace_is_over(hooked, grace, grace_s):
    with receiving() as receiver:
        id = hooked.endpoint(receiver.url, secret=SECRET)
        new = rotate(hooked, id, **grace)

        hooked.emit()
        receiver.wait_for(1)
        hooked.move_to(START + timedelta(seconds=grace_s - 0.001))
        hooked.emit()
        receiver.wait_for(2)
        hooked.move_to(START + timedelta(seconds=grace_s))
        hooked.emit()
        during, late, after = receiver.wait_for(3)

    assert [one.is_signed_by(new) for one in (during, late, after)] == [True] * 3
    assert [one.is_signed_by(SECRET) for one in (during, late, after)] == [True, True, False]
    assert [len(one.headers["webhook-signature"].split()) for one in (during, after)] == [2, 1]


def test_without_grace_the_old_secret_signs_no_more(hooked):
    with receiving() as receiver:
        id = hooked.endpoint(receiver.url, secret=SECRET)
        new = rotate(hooked, id, grace_s=0)

        hooked.emit()
        (received,) = receiver.wait_for(1)

    assert (received.is_signed_by(new), received.is_signed_by(SECRET)) == (True, False)


def test_a_retry_is_signed_by_what_signs_when_it_is_sent(hooked):
    with receiving([500, 200]) as receiver:
        id = hooked.endpoint(receiver.url, secret=SECRET)
        message = hooked.emit()
        hooked.tried(message, id)
        rotate(hooked, id, grace_s=0, secret=OTHER_SECRET)

        hooked.pass_by(seconds=6)
        first, second = receiver.wait_for(2)

    assert (first.is_signed_by(SECRET), second.is_signed_by(SECRET)) == (True, False)
    assert second.is_signed_by(OTHER_SECRET)


def test_three_secrets_sign_while_two_are_in_grace(hooked):
    with receiving() as receiver:
        id = hooked.endpoint(receiver.url, secret=SECRET)
        second = rotate(hooked, id)
        third = rotate(hooked, id)

        hooked.emit()
        (received,) = receiver.wait_for(1)

    assert all(received.is_signed_by(one) for one in (SECRET, second, third))
