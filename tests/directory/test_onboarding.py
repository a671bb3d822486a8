"""A merchant's whole life over a real socket, and what its webhooks would have said of it.

One server serves all tests, so that each onboards a merchant of its own.
"""

import itertools
from typing import Any

import pytest

from tests.directory.making import ACCOUNT

NUMBERS = itertools.count(1)


class Shop:
    """A merchant that a partner onboards, and a record of what its API answered."""

    def __init__(self, served: Any) -> None:
        self.served = served
        self.number = next(NUMBERS)
        self.account = self.do("POST", "/v2/accounts", ACCOUNT)
        self.id = self.account["id"]
        self.key = self.account["api_key"]["key"]

    def do(self, method: str, path: str, body: Any = None, *, key: str = "partner") -> Any:
        """The JSON that a request was answered with; None where there is no body."""
        sent = {} if body is None else {"json": body}
        answer = self.served.ask(method, path, key=key, **sent)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def messages(self, subject: str) -> list[tuple[str, Any]]:
        """Event type and body of everything announced about the resource, oldest first."""
        listed = self.served.control("GET", f"/worlds/default/messages?subject={subject}").json()
        return [(one["event_type"], one["body"]) for one in listed["messages"]]

    def board(self, name: str, tid: str) -> Any:
        body = {
            "account_id": self.id,
            "processor_config_id": "cfg-tsys-001",
            "name": name,
            "mid": f"8860000{self.number:05d}",
            "tid": tid,
        }
        return self.do("POST", "/v2/terminals", body)

    def open_location(self, terminal_id: str) -> Any:
        body = {"account_id": self.id, "name": "Bakery", "terminal_id": terminal_id}
        return self.do("POST", "/v1/locations", body)

    def issue_credential(self) -> Any:
        body = {"account_id": self.id, "pin": "193847"}
        return self.do("POST", "/v1/accounts/credentials", body)


@pytest.fixture
def shop(served) -> Shop:
    return Shop(served)


@pytest.mark.proves("spec 4.4-paths-provisioning")
def test_the_merchants_new_key_works_at_once_and_reads_its_own_account(shop):
    account = shop.do("GET", f"/v2/accounts/{shop.id}", key=shop.key)

    assert account == {name: value for name, value in shop.account.items() if name != "api_key"}


def a_life(shop: Shop, path: str, change: dict[str, Any]) -> list[Any]:
    """What GET shows after creation, a change, a block, an unblock; then it is deleted."""
    seen = [shop.do("GET", path)]
    shop.do("PUT", path, change)
    seen.append(shop.do("GET", path))
    shop.do("POST", f"{path}/block")
    seen.append(shop.do("GET", path))
    shop.do("POST", f"{path}/unblock")
    seen.append(shop.do("GET", path))
    shop.do("DELETE", path)
    return seen


LIVES = {
    "account": (lambda shop: shop.id, "/v1/accounts", {"description": "Bakery and cafe"}),
    "terminal": (
        lambda shop: shop.board("counter", "00000001")["terminal_id"],
        "/v2/terminals",
        {"name": "window", "surcharge_rate": 350},
    ),
    "location": (
        lambda shop: shop.open_location(shop.board("counter", "00000001")["terminal_id"])["id"],
        "/v1/locations",
        {"phone": "5125551234"},
    ),
}


@pytest.mark.proves(
    "spec 6.3-account.created, 6.3-account.updated, 6.3-account.blocked, 6.3-account.unblocked",
    "spec 6.3-account.deleted",
    "spec 6.3-terminal.updated, 6.3-terminal.blocked, 6.3-terminal.unblocked",
    "spec 6.3-terminal.deleted, 6.3-location.updated, 6.3-location.blocked",
    "spec 6.3-location.unblocked, 6.3-location.deleted, 6.1.4",
)
@pytest.mark.parametrize("kind", LIVES)
def test_each_event_carries_the_record_as_it_was_and_the_last_one_ids_alone(shop, kind):
    create, path, change = LIVES[kind]
    id = create(shop)
    created, updated, blocked, unblocked = a_life(shop, f"{path}/{id}", change)

    announced = shop.messages(id)

    ids = {
        "account": {"id": id},
        "terminal": {"terminal_id": id, "account_id": shop.id},
        "location": {"id": id, "account_id": shop.id},
    }
    assert announced == [
        (f"{kind}.created", created),
        (f"{kind}.updated", updated),
        (f"{kind}.blocked", blocked),
        (f"{kind}.unblocked", unblocked),
        (f"{kind}.deleted", ids[kind]),
    ]
    assert (blocked["status"], unblocked["status"]) == ("blocked", "active")


@pytest.mark.proves(
    "spec 6.3-credential.created, 6.3-credential.blocked, 6.3-credential.unblocked",
    "spec 6.3-credential.deleted, 2.9-pin",
)
def test_each_event_of_a_credential_carries_it_with_its_pin_hidden(shop):
    credential = shop.issue_credential()
    path = f"/v1/accounts/credentials/{credential['id']}"
    created, changed, blocked, unblocked = a_life(shop, path, {"pin": "555555"})

    announced = shop.messages(credential["id"])

    assert announced == [
        ("credential.created", created),
        ("credential.blocked", blocked),
        ("credential.unblocked", unblocked),
        ("credential.deleted", unblocked | {"is_active": False}),
    ]
    assert created == changed == unblocked == credential
    assert created["pin"] == "****"
    assert (blocked["is_active"], created["is_active"]) == (False, True)
