def test_the_merchant_lists_its_keys(sandbox):
    answer = sandbox.ask("GET", "/v5/apikeys", key="merchant")
    assert answer.status == 200, sandbox.journal(answer)


def test_served(served):
    answer = served.ask("GET", "/v5/apikeys", key="merchant")
    assert answer.status_code == 200


def test_create(sandbox):
    answer = sandbox.ask(
        "POST",
        "/v5/apikeys",
        key="partner",
        json_body={
            "name": "x",
            "permissions": ["payments:read"],
            "account_id": sandbox.account("merchant"),
        },
    )
    assert answer.status == 201, answer.body
    print(answer.json(), sandbox.journal(answer))
    m = sandbox.control("GET", "/worlds/default/messages").json()
    print(m)
    a = sandbox.ask("GET", "/v1/accounts/" + sandbox.account("merchant"), key="partner")
    print(a.json())
    w = sandbox.control("POST", "/worlds", {"seed": 3, "clock": "2026-01-01T00:00:00Z"})
    print(w.json())
    assert w.status == 201
