"""A key that was recognized once works only for as long as it exists."""


def _make(sandbox):
    return sandbox.control("POST", "/worlds", {"id": "other"}).json()["keys"]["merchant"]["key"]


def _status(sandbox, key):
    return sandbox.ask("GET", "/v5/apikeys", key=key).status


def test_a_key_ends_with_its_world(sandbox):
    key = _make(sandbox)
    before = _status(sandbox, key)

    sandbox.control("DELETE", "/worlds/other")

    assert (before, _status(sandbox, key)) == (200, 401)


def test_the_same_key_of_a_new_world_is_the_new_worlds(sandbox):
    key = _make(sandbox)
    sandbox.ask("POST", "/v3/payment", key=key, json_body={"amount": 1000})
    sandbox.control("DELETE", "/worlds/other")

    again = _make(sandbox)
    found = sandbox.ask("GET", "/v2/transactions", key=key).json()["total"]

    assert again == key
    assert found == 0


def test_a_key_that_a_reset_takes_away_is_unknown_again(sandbox):
    partner = sandbox.key("partner")
    new = {"name": "Till", "permissions": ["payments:read"]}
    key = sandbox.ask("POST", "/v5/apikeys", key=partner, json_body=new).json()["key"]
    before = sandbox.ask("GET", "/v2/transactions", key=key).status

    sandbox.control("POST", "/worlds/default/reset")

    assert (before, sandbox.ask("GET", "/v2/transactions", key=key).status) == (200, 401)


def test_a_key_that_is_revoked_is_refused_and_works_again_once_it_is_reinstated(sandbox):
    partner = sandbox.key("partner")
    new = {"name": "Till", "permissions": ["payments:read"]}
    made = sandbox.ask("POST", "/v5/apikeys", key=partner, json_body=new).json()
    statuses = [sandbox.ask("GET", "/v2/transactions", key=made["key"]).status]

    for status in ("revoked", "active"):
        sandbox.ask("PUT", f"/v5/apikeys/{made['id']}", key=partner, json_body={"status": status})
        statuses.append(sandbox.ask("GET", "/v2/transactions", key=made["key"]).status)

    assert statuses == [200, 401, 200]
