"""Readings of accounts, terminals, locations, credentials and keys: every value of each."""

import pytest

from sandbox.domain.profile import Profile
from tests.directory.contract import LARGE
from tests.driving import fresh


def _resources(sandbox):
    """One of each resource with `deleted_at`: where it is served, and as it was made."""
    return {one.item(made): made for one in LARGE for made in [one.create(sandbox)]}


@pytest.mark.proves("assumed D35-deletion", "spec 3.4-deleted")
def test_a_deletion_answers_the_deleted_resource(sandbox):
    sandbox.choose(delete_answers="resource")
    for path, made in _resources(sandbox).items():
        deleted = sandbox.delete(path).expect(200)

        assert deleted["deleted_at"] == deleted["updated_at"] is not None
        times = {"deleted_at": None, "updated_at": None}
        assert made | times == deleted | times
        assert sandbox.delete(path).status == sandbox.get(path).status == 404


@pytest.mark.proves("assumed D35-deleted", "spec 3.4-deleted")
def test_a_deleted_resource_can_be_read_by_its_id(sandbox):
    sandbox.choose(deleted_resources="shown")
    credential = sandbox.a_credential()
    resources = _resources(sandbox)
    paths = [*resources, f"/v1/accounts/credentials/{credential['id']}"]
    own = sandbox.mint(["terminals:read", "locations:read"], by="psp", account="merchant")["key"]
    for path in paths:
        sandbox.delete(path)

    answers = {path: sandbox.get(path).expect(200) for path in paths}

    for path in resources:
        assert answers[path]["deleted_at"] is not None
        assert sandbox.ask("HEAD", path, key="partner").status == 200
        # The merchant itself reads its own resources; another merchant sees nothing.
        if "accounts" not in path:
            assert sandbox.get(path, by=own).status == 200
        assert sandbox.get(path, by="other_merchant").status == 404
        assert sandbox.put(path, {"name": "back"}).status == 404
        assert sandbox.delete(path).status == 404
    listed = sandbox.get("/v1/locations", query="limit=200").expect(200)["locations"]
    assert not {one["id"] for one in listed} & {path.rpartition("/")[2] for path in paths}


@pytest.mark.proves("assumed D35-deleted", "spec 6.3-credential.deleted")
def test_a_credential_that_is_deleted_with_its_account_is_shown_as_inactive(sandbox):
    sandbox.choose(deleted_resources="shown")
    account = sandbox.an_account()["id"]
    credential = sandbox.a_credential(account_id=account)["id"]

    sandbox.delete(f"/v1/accounts/{account}").expect(204)

    assert sandbox.get(f"/v1/accounts/credentials/{credential}").expect(200)["is_active"] is False


@pytest.mark.proves("assumed D35-application")
def test_the_answer_of_a_v2_creation_names_the_application(sandbox):
    sandbox.choose(application_in_answer="named")

    account = sandbox.an_account(path="/v2/accounts", by="psp")
    listed = sandbox.look("applications")["applications"]
    (application,) = [one["id"] for one in listed if one["account_id"] == account["id"]]

    assert account["application_id"] == application
    assert "application_id" not in sandbox.an_account()


@pytest.mark.proves("assumed D35-deletion")
def test_the_document_describes_the_answer_of_the_profile():
    sandbox = fresh(profile=Profile(readings={"delete_answers": "resource"}))
    document = sandbox.look("/platform/openapi.json")

    described = document["paths"]["/v1/locations/{location_id}"]["delete"]["responses"]

    assert [one for one in described if one.startswith("2")] == ["200"]
    assert "content" in described["200"]


@pytest.mark.proves("assumed D35-past")
def test_an_expiry_that_has_passed_ends_the_key_at_once(sandbox):
    sandbox.choose(past_expiry="expires_at_once")
    past = {"expires_at": "2020-01-01T00:00:00Z"}
    body = {"name": "late", "permissions": ["accounts:read"], **past}

    made = sandbox.post("/v5/apikeys", body, by="psp")
    changed = sandbox.put(f"/v5/apikeys/{sandbox.key_id('merchant')}", past, by="psp")

    assert (made.status, changed.status) == (201, 200)
    assert sandbox.get("/v1/accounts", by="merchant").status == 401
    assert made.json()["expires_at"] == changed.json()["expires_at"]
    assert sandbox.get("/v1/accounts", by=made.json()["key"]).status == 401


@pytest.mark.proves("assumed D35-boarding")
def test_a_merchant_leaves_it_to_its_partner_to_create_terminals(sandbox):
    sandbox.choose(terminal_creators="partner_and_above")
    own = sandbox.mint(["terminals:create"], by="psp", account="merchant")["key"]
    body = sandbox.terminal_body()

    answer = sandbox.post("/v2/terminals", body, by=own)

    assert answer.error() == (403, "forbidden")
    assert sandbox.post("/v2/terminals", body).status == 201


def _total(sandbox, path, query="limit=1"):
    listed = sandbox.get(path, by="admin", query=query).expect(200)
    return len(listed) if isinstance(listed, list) else listed["total"]


@pytest.mark.proves("assumed D35-admin")
def test_lists_show_an_admin_all(sandbox):
    sandbox.choose(admin_sees="all")
    sandbox.sold()
    below = {
        "/v1/accounts": sandbox.get("/v1/accounts", by="psp").expect(200)["total"] + 1,
        "/v2/terminals": sandbox.get("/v2/terminals", by="psp").expect(200)["total"],
        "/v1/locations": sandbox.get("/v1/locations", by="psp").expect(200)["total"],
        "/v1/batches": 1,
        "/v2/transactions": 1,
        "/v1/transactions": 1,
    }

    assert {path: _total(sandbox, path) for path in below} == below
    assert _total(sandbox, "/v2/terminals", "status=active") == below["/v2/terminals"]
    assert _total(sandbox, "/v2/transactions", "status=captured") == 1
    # Nobody else sees more.
    everything = sandbox.get("/v1/accounts", by="psp").expect(200)["total"]
    assert sandbox.get("/v1/accounts", by="partner").expect(200)["total"] < everything


@pytest.mark.proves("assumed D35-admin")
@pytest.mark.parametrize("value", ["own_tree", "all"])
@pytest.mark.parametrize("form", ["apikeys:read", "apikeys:read:sub"])
def test_either_form_shows_an_admin_that_sees_all_the_keys_of_all_accounts(sandbox, value, form):
    plaintext = sandbox.mint([form], by="admin")["key"]
    both = sandbox.mint(["apikeys:read", "apikeys:read:sub"], by="admin")["key"]
    edits = sandbox.mint(["apikeys:edit"], by="admin")["key"]
    sandbox.choose(admin_sees=value)
    of_merchant = f"/v5/apikeys/{sandbox.key_id('merchant')}"

    listed = {one["id"] for one in sandbox.get("/v5/apikeys", by=plaintext).json()}
    all_keys = {one["id"] for one in sandbox.get("/v5/apikeys", by=both).json()}

    assert (listed == all_keys) == (value == "all")
    is_read = sandbox.get(of_merchant, by=plaintext).status == 200
    assert is_read == (value == "all" or form == "apikeys:read:sub")
    # To see is not to change.
    assert sandbox.put(of_merchant, {"name": "x"}, by=edits).status == 401
