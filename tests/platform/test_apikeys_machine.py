"""One key through any order of changes and clocks, beside a model of it that fits on a page."""

from datetime import datetime, timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.driving import fresh
from tests.properties import examples

START = datetime(2026, 3, 1, 12)
MINUTES = st.integers(min_value=-90, max_value=90)


def wire(instant):
    return instant.isoformat(timespec="milliseconds") + "Z"


class KeyLife(RuleBasedStateMachine):
    """The key lives for an hour unless its expiry is moved; the clock goes to and fro."""

    def __init__(self, profile):
        super().__init__()
        self.sandbox = fresh(profile=profile)
        self.now = START
        self.expires_at = START + timedelta(hours=1)
        self.status = "active"
        self.name = "till"
        self.is_deleted = False
        more = {"name": self.name, "expires_at": wire(self.expires_at)}
        self.made = self.sandbox.mint(["payments:read"], by="merchant", **more)
        self.events = [("api_key.created", "active", self.name, self.expires_at)]

    def announced(self, event, status):
        self.events.append((event, status, self.name, self.expires_at))

    def set_status(self, status):
        if status == self.status:
            return
        self.status = status
        verb = {"revoked": "revoked", "active": "reinstated"}[status]
        self.announced(f"api_key.{verb}", status)

    @rule(
        status=st.sampled_from(["revoked", "active", None]),
        name=st.sampled_from(["till", "bar", None]),
        expiry_in=st.none() | MINUTES,
    )
    def change(self, status, name, expiry_in):
        expires_at = None if expiry_in is None else self.now + timedelta(minutes=expiry_in)
        changes = {
            "status": status,
            "name": name,
            "expires_at": None if expires_at is None else wire(expires_at),
        }

        answer = self.sandbox.change_key(self.made["id"], **changes)

        if self.is_deleted:
            assert answer.status == 404
        elif expires_at not in (None, self.expires_at) and expires_at <= self.now:
            assert answer.status == 400
        else:
            self.name = name or self.name
            self.expires_at = expires_at or self.expires_at
            self.set_status(status or self.status)
            assert answer.expect(200) == self.sandbox.read_key(self.made["id"])

    # Rarely: what comes after a deletion is soon told.
    @precondition(lambda self: self.is_deleted or len(self.events) > 3)
    @rule()
    def delete(self):
        answer = self.sandbox.delete_key(self.made["id"])

        assert (answer.status, answer.json()["status"]) == (200, "revoked")
        if not self.is_deleted:
            self.is_deleted = True
            self.announced("api_key.deleted", "deleted")

    @rule(minutes=MINUTES)
    def move_clock(self, minutes):
        self.now += timedelta(minutes=minutes)
        self.sandbox.set_clock(wire(self.now))

    @rule()
    def move_clock_to_the_expiry(self):
        self.now = self.expires_at
        self.sandbox.set_clock(wire(self.now))

    @rule()
    def move_clock_to_just_before_the_expiry(self):
        self.now = self.expires_at - timedelta(milliseconds=1)
        self.sandbox.set_clock(wire(self.now))

    @invariant()
    def it_authenticates_iff_active_undeleted_and_unexpired(self):
        is_usable = self.status == "active" and not self.is_deleted and self.now < self.expires_at

        assert self.sandbox.authenticates(self.made["key"]) is is_usable

    @invariant()
    def what_was_announced_is_what_changed(self):
        told = [
            (
                message["event_type"],
                message["body"]["status"],
                message["body"]["name"],
                datetime.fromisoformat(message["body"]["expires_at"]).replace(tzinfo=None),
            )
            for message in self.sandbox.messages(subject=self.made["id"])
        ]

        assert told == self.events

    @invariant()
    def it_is_read_as_it_is(self):
        answer = self.sandbox.get(f"/v5/apikeys/{self.made['id']}", by="merchant")

        assert answer.status == (404 if self.is_deleted else 200)
        if not self.is_deleted:
            shown = answer.json()
            now = {"status": self.status, "name": self.name, "expires_at": wire(self.expires_at)}
            hidden = {"key": None, "last_used_at": shown["last_used_at"]}
            assert shown == self.made | now | hidden


@pytest.mark.hypothesis
@pytest.mark.proves(
    "spec 3.1-revoke, 3.1-reinstate, 3.1-delete, 3.1-expiry, 3.1-gone",
    "spec 6.3-api_key.revoked, 6.3-api_key.reinstated, 6.3-api_key.deleted",
    "spec 4.3-keys, 4.3-keys-null, 4.3-keys-answer, 4.4-delete-rotation, 5.11",
    "assumed 8.2-revoke, 8.2-boundary, 4.3-same-status, 4.3, 4.3-expired, 4.3-read, D19",
    "assumed 4.3-update, C10, D42",
)
def test_no_order_of_changes_and_clocks_confuses_a_key(profile):
    run_state_machine_as_test(
        lambda: KeyLife(profile),
        settings=settings(max_examples=examples(45), stateful_step_count=25),
    )
