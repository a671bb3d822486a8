"""Teams share a server, and none finds a trace of another. Source: assumed D25-teams."""

import json
from dataclasses import replace

import pytest

from sandbox.app import build
from sandbox.control.routes import CONTROL
from sandbox.settings import Settings
from sandbox.store.files.port import FORMAT
from sandbox.worlds.spec import Limits
from tests.control.reading import reading
from tests.control.refusals import path_of
from tests.driving import InProcess, Response, Served, serving

OPERATORS = "open-sesame-open-sesame"
NOW_S = 1_772_366_400.0
HOUR_S = 3_600.0
TRACES = ("secret-plans", "@web", "Plans of the others")


class Caller(InProcess):
    """A program that asks the control API."""

    def make(self, **more) -> dict:
        """A world that it makes."""
        return self.control("POST", "/worlds", more).expect(201)

    def ids(self) -> list[str]:
        return [one["id"] for one in self.control("GET", "/worlds").json()["worlds"]]


def with_token(sandbox: InProcess, token: str) -> Caller:
    return Caller(sandbox.sandbox, defaults={"authorization": f"Bearer {token}"})


class Shared:
    """A server that two teams share."""

    def __init__(self, **settings) -> None:
        self.now_s = NOW_S
        guarded = Settings(host="0.0.0.0", token=OPERATORS, **settings)
        self.sandbox = InProcess(build(guarded, system_clock=lambda: self.now_s))
        self.operator = with_token(self.sandbox, OPERATORS)
        self.mobile = self.team("mobile")
        self.web = self.team("web")

    def issue(self, team: str, **more) -> dict:
        return self.operator.control("POST", "/tokens", {"team": team} | more).expect(201)

    def team(self, name: str) -> Caller:
        return with_token(self.sandbox, self.issue(name)["token"])


@pytest.fixture
def shared() -> Shared:
    return Shared()


# --- whose a world is -------------------------------------------------------------------------


def test_a_team_calls_its_worlds_by_plain_names_or_ids_or_has_them_numbered(shared):
    assert shared.mobile.make(id="default")["id"] == "default@mobile"

    for id in ("default", "default@mobile"):
        assert shared.mobile.look(f"/worlds/{id}")["id"] == "default@mobile"
    assert shared.operator.look("/worlds/default")["id"] == "default"
    assert [shared.web.make()["id"] for _ in range(3)][-1] == "world-3@web"
    assert shared.mobile.make()["id"] == "world-1@mobile"
    assert shared.operator.make()["id"] == "world-1"


@pytest.mark.proves("assumed D25-teams")
def test_each_team_sees_the_worlds_that_it_made_with_keys_of_their_own(shared):
    one, other = (team.make(id="checkout") for team in (shared.mobile, shared.web))

    assert shared.mobile.ids() == ["checkout@mobile"]
    assert shared.web.ids() == ["checkout@web"]
    assert shared.operator.ids() == ["default", "checkout@mobile", "checkout@web"]
    assert one["keys"]["merchant"]["key"] != other["keys"]["merchant"]["key"]
    shared.sandbox.get("/v1/accounts", by=one["keys"]["partner"]["key"]).expect(200)
    assert shared.mobile.look("/worlds/checkout/requests")["total"] == 1
    assert shared.web.look("/worlds/checkout/requests")["total"] == 0


def test_a_team_makes_no_world_under_another_name(shared):
    shared.mobile.make(id="mine")
    for id in ("plans@web", "plans@mobile@web", "plans@", "@mobile", "Plans"):
        for path in ("/worlds", "/worlds/mine/fork"):
            assert shared.mobile.control("POST", path, {"id": id}).status == 400, id
    assert shared.operator.ids() == ["default", "mine@mobile"]


def test_the_operator_makes_worlds_for_a_team_and_copies_of_them(shared):
    shared.operator.make(id="given@mobile")
    copy = shared.operator.control("POST", "/worlds/given@mobile/fork", {}).json()

    assert shared.mobile.ids() == ["given@mobile"]
    assert copy["id"] == "world-1"


def test_a_full_team_does_not_limit_another():
    small = Shared(limits=Limits(worlds_per_team_max=2))
    for _ in range(2):
        small.mobile.make()

    refused = small.mobile.control("POST", "/worlds", {}).expect(409)

    assert "2 worlds, which is the most that a team may have" in refused["message"]
    small.web.make()
    small.operator.make()


# --- no trace ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def secretive() -> Shared:
    """A server on which another team has a world with a payment, a scenario and an endpoint."""
    shared = Shared()
    made = shared.web.make(id="secret-plans", name="Plans of the others")
    key, terminal = made["keys"]["merchant"]["key"], made["terminals"]["merchant"]
    body = {"amount": 4711, "terminal_id": terminal}
    assert shared.sandbox.post("/v3/payment", body, by=key).status == 200
    shared.web.control(
        "PUT", "/worlds/secret-plans/scenario", {"toml": 'name = "Plans of the others"'}
    )
    return shared


@pytest.mark.proves("assumed D25-teams")
def test_a_world_of_another_team_looks_like_a_missing_one(secretive):
    for row in (row for row in CONTROL if "{w}" in row.path):
        body = {} if row.body is not None or row.is_raw else ...
        answers = set()
        for world in ("nowhere-at-all", "secret-plans", "secret-plans@web", "default"):
            answer = secretive.mobile.control(row.method, path_of(row, world), body)
            answers.add((answer.status, answer.body.decode().replace(world, "W")))
        assert [status for status, _ in answers] == [404], row.name
    # Nor is a name that resembles theirs.
    assert "nearest" not in secretive.mobile.control("GET", "/worlds/secret-plan").json()


def test_no_answer_about_the_server_reveals_a_world_of_another_team(secretive):
    for row in (row for row in CONTROL if "{w}" not in row.path):
        body = {} if row.body is not None else ...
        query = "q=4711" if row.name == "find" else ""
        answer = secretive.mobile.control(row.method, path_of(row), body, query=query)
        assert [one for one in TRACES if one in answer.body.decode()] == [], row.name


def test_a_search_finds_and_counts_nothing_in_worlds_of_other_teams(secretive):
    sold = secretive.web.look("/worlds/secret-plans/payments")["payments"][0]
    id = sold["id"]

    def find(caller: Caller, query: str) -> Response:
        return caller.control("GET", "/find", query=query)

    assert find(secretive.web, f"q={id}").json()["found"][0]["world"] == "secret-plans@web"
    assert find(secretive.mobile, f"q={id}").json() == {"found": [], "more": False}
    assert find(secretive.mobile, f"q={id}&world=secret-plans@web").status == 404
    counted = secretive.mobile.look("/coverage")
    assert all(section["exercised"] == {} for section in counted.values())
    mine = secretive.web.look("/coverage")
    assert mine["operations"]["exercised"] == {"payments.create": 1}


def test_a_snapshot_with_a_key_of_another_team_does_not_name_its_world(secretive):
    key = secretive.web.look("/worlds/secret-plans")["keys"]["merchant"]["key"]
    body = {"name": "x", "permissions": ["payments:read"]}
    assert secretive.sandbox.post("/v5/apikeys", body, by=key).status == 201
    saved = secretive.web.look("/worlds/secret-plans/snapshot")
    # As a snapshot of this world: from another one only keys of the cast are taken over.
    (world,) = saved["world"].values()
    world |= dict.fromkeys(("_id", "id"), "copy@mobile")
    secretive.mobile.make(id="copy")

    refused = secretive.mobile.control("PUT", "/worlds/copy/snapshot", saved).expect(400)

    assert refused["message"].endswith(": another world has this key")


# --- tokens -----------------------------------------------------------------------------------


def test_a_token_is_shown_once_and_kept_as_a_digest(shared):
    issued = shared.issue("mobile", name="CI")
    listed = shared.operator.control("GET", "/tokens")

    assert issued["token"].startswith("sbx_")
    assert len(issued["token"]) > 30
    newest = listed.json()["tokens"][-1]
    assert newest == {name: value for name, value in issued.items() if name != "token"}
    assert issued["token"] not in listed.body.decode()


@pytest.mark.proves("assumed D25-metrics")
def test_only_the_operator_manages_tokens_and_reads_metrics(shared):
    rows = [row for row in CONTROL if row.is_for_operator]
    assert {"tokens.create", "tokens.list", "tokens.delete", "metrics"} < {row.name for row in rows}
    for row in rows:
        body = {"team": "mobile"} if row.body is not None else ...
        refused = shared.mobile.control(row.method, path_of(row), body)
        assert refused.error() == (403, "operator_only"), row.name
        assert "operator's token" in refused.json()["message"]


def test_a_deleted_token_is_worthless_at_once_and_its_worlds_stay(shared):
    issued = shared.issue("mobile")
    caller = with_token(shared.sandbox, issued["token"])
    caller.make(id="checkout")

    assert shared.operator.control("DELETE", f"/tokens/{issued['id']}").status == 204

    assert caller.control("GET", "/worlds").status == 401
    assert shared.mobile.ids() == ["checkout@mobile"]
    assert shared.operator.control("DELETE", f"/tokens/{issued['id']}").status == 404


def test_a_deleted_token_ends_the_streams_that_it_began(shared, run):
    issued = shared.issue("mobile")
    world = with_token(shared.sandbox, issued["token"]).make(id="checkout")["id"]
    asked = [(b"authorization", f"Bearer {issued['token']}".encode()), (b"host", b"localhost")]

    with reading(replace(shared.operator, world=world), run, headers=asked) as stream:
        shared.operator.control("DELETE", f"/tokens/{issued['id']}").expect(204)
        shared.operator.control("PUT", f"/worlds/{world}/clock", {"rate": 2})
        assert stream.text() == ""


def test_a_token_expires_at_its_moment(shared):
    for ends in ({"expires_in": "1h"}, {"expires_at": "2026-03-01T13:00:00Z"}):
        shared.now_s = NOW_S
        issued = shared.issue("mobile", **ends)
        caller = with_token(shared.sandbox, issued["token"])
        assert issued["expires_at"] == "2026-03-01T13:00:00.000Z"

        for at_s, status in ((NOW_S + HOUR_S - 0.001, 200), (NOW_S + HOUR_S, 401)):
            shared.now_s = at_s
            assert caller.control("GET", "/worlds").status == status
        assert shared.operator.look("/tokens")["tokens"][-1]["expired"] is True


def test_a_browser_signs_in_for_a_team_and_loses_its_session_with_the_token(shared):
    shared.mobile.make(id="checkout")
    issued = shared.issue("mobile")

    begun = shared.sandbox.control("POST", "/session", {"token": issued["token"]})
    cookie = begun.headers["set-cookie"].split(";")[0]
    browser = Caller(shared.sandbox.sandbox, defaults={"cookie": cookie})

    assert begun.json()["team"] == "mobile"
    assert browser.look("/session")["team"] == "mobile"
    assert browser.ids() == ["checkout@mobile"]
    assert browser.control("GET", "/tokens").status == 403
    shared.operator.control("DELETE", f"/tokens/{issued['id']}")
    assert browser.control("GET", "/worlds").status == 401
    assert browser.look("/session")["signed_in"] is False


@pytest.mark.parametrize("name", ["state.db", "state.json"])
def test_tokens_and_worlds_of_teams_outlive_a_server_that_is_killed(tmp_path, name):
    path = tmp_path / name

    def ids(server: Served, token: str) -> list[str]:
        listed = server.control("GET", "/worlds", headers={"authorization": f"Bearer {token}"})
        return [one["id"] for one in listed.json()["worlds"]]

    with serving("--store", str(path)) as server:
        issued = server.control("POST", "/tokens", json={"team": "mobile"}).json()
        gone = server.control("POST", "/tokens", json={"team": "web"}).json()
        by = {"authorization": f"Bearer {issued['token']}"}
        server.control("POST", "/worlds", json={"id": "checkout"}, headers=by)
        assert server.control("DELETE", f"/tokens/{gone['id']}").status_code == 204
        last = server.control("POST", "/tokens", json={"team": "mobile"}).json()
        server.process.kill()

    with serving("--store", str(path)) as server:
        assert ids(server, issued["token"]) == ids(server, last["token"]) == ["checkout@mobile"]
        assert "default" in ids(server, gone["token"])
    assert issued["token"] not in path.read_bytes().decode("latin-1")


def test_damaged_tokens_in_a_file_grant_no_access(tmp_path):
    path = tmp_path / "state.json"
    head = {"program": "uat-sandbox", "format": FORMAT, "tokens": [{"id": 1}]}
    path.write_text(json.dumps({"file": {"1": head}}))

    with pytest.raises(Exception, match="cannot be read: tokens"):
        build(Settings(host="0.0.0.0", token=OPERATORS, store=path))
