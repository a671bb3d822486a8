"""What the API answered for a resource may be sent back unchanged. Source: assumed D42."""

import pytest

from tests.directory.making import account_id


def everything(sandbox):
    """Paths of every account, terminal and location of the demo world, and of new bare ones."""
    bare = sandbox.ask(
        "POST",
        "/v2/terminals",
        key="partner",
        json_body={
            "account_id": account_id(sandbox, "merchant"),
            "terminal_name": "Bare",
            "mid": "1",
            "tid": "2",
        },
    )
    credential = sandbox.ask("POST", "/v1/accounts/credentials", key="merchant", json_body={})
    yield f"/v1/accounts/credentials/{credential.json()['id']}"
    lists = {
        "/v1/accounts": ("accounts", ("/v1/accounts/{}", "/v2/accounts/{}")),
        "/v2/terminals": ("terminals", ("/v2/terminals/{}",)),
        "/v1/locations": ("locations", ("/v1/locations/{}",)),
    }
    assert bare.status in (201, 400)
    for path, (plural, patterns) in lists.items():
        page = sandbox.ask("GET", path, key="psp", query="limit=100").json()
        for record in page[plural]:
            id = record.get("id") or record["terminal_id"]
            yield from (pattern.format(id) for pattern in patterns)


@pytest.mark.proves("assumed D42")
@pytest.mark.parametrize("unset", ["as_null", "as_empty"])
def test_every_resource_takes_back_what_it_shows(sandbox, unset):
    sandbox.control("PUT", "/worlds/default/readings", {"unset_strings": unset})
    paths = list(everything(sandbox))
    assert len(paths) > 20

    refused = []
    for path in paths:
        shown = sandbox.ask("GET", path, key="psp").json()
        answer = sandbox.ask("PUT", path, key="psp", json_body=shown)
        if answer.status != 200:
            refused.append((path, answer.status, answer.body))
        else:
            assert {**answer.json(), "updated_at": 0} == {**shown, "updated_at": 0}

    assert refused == []


@pytest.mark.proves("assumed D42")
def test_an_empty_text_still_changes_what_is_set(sandbox):
    path = f"/v1/accounts/{account_id(sandbox, 'merchant')}"

    answer = sandbox.ask("PUT", path, key="psp", json_body={"name": ""})

    assert answer.status == 400
