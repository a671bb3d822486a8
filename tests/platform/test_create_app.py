"""The sandbox as a Starlette application, alone and mounted under a prefix of another one."""

from urllib.parse import urljoin

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from sandbox.app import create_app
from sandbox.settings import Settings


def alone(settings: Settings | None = None) -> tuple[Starlette, str]:
    return create_app(settings), ""


def mounted(settings: Settings | None = None) -> tuple[Starlette, str]:
    """Below two prefixes of an application that has a page of its own."""
    app = create_app(settings)

    async def page(request: object) -> PlainTextResponse:
        return PlainTextResponse("a page of the application around it")

    inner = Starlette(routes=[Mount("/pay", app)])
    routes = [Route("/v2/accounts", page), Mount("/vendors", inner)]
    return Starlette(routes=routes, lifespan=lambda _: app.router.lifespan_context(app)), (
        "/vendors/pay"
    )


@pytest.fixture(params=[alone, mounted])
def made(request):
    return request.param


def running(app: Starlette, prefix: str) -> TestClient:
    """A client, for a block in which the application runs."""
    return TestClient(app, base_url=f"http://localhost{prefix}")


def headers_of(client: TestClient) -> dict[str, str]:
    """The headers of the merchant."""
    keys = client.get("/_sandbox/worlds/default").json()["keys"]
    return {"x-service-apikey": keys["merchant"]["key"]}


def test_a_payment_is_taken_and_its_journal_read(made):
    with running(*made()) as client:
        terminals = client.get("/_sandbox/worlds/default").json()["terminals"]
        body = {"amount": 1000, "terminal_id": terminals["merchant"]}
        sale = client.post("/v3/payment", json=body, headers=headers_of(client))
        entry = client.get("/_sandbox/worlds/default/requests").json()["requests"][-1]

    assert (sale.status_code, sale.json()["status"]) == (200, "captured")
    assert (entry["path"], entry["route"]) == ("/v3/payment", "payments.create")


def test_a_mounted_application_refuses_unknown_paths_and_foreign_hosts(made):
    with running(*made()) as client:
        for path in ("/nonsense", "/_sandbox/nonsense", "/"):
            answer = client.get(path)
            assert (answer.status_code, answer.json()["error"]) == (404, "not_found")
        foreign = client.get("/_sandbox/worlds", headers={"host": "rebound.example"})
        assert foreign.status_code == 421
    around = running(mounted()[0], "").get("/v2/accounts")
    assert around.text == "a page of the application around it"


def test_the_documents_name_the_place_where_it_is_mounted(made):
    app, prefix = made()
    with running(app, prefix) as client:
        for path in ("/_sandbox/openapi.json", "/_sandbox/platform/openapi.json"):
            server = client.get(path).json()["servers"][0]["url"]
            assert urljoin(prefix + path, server) == f"{prefix}/"


def test_a_state_file_is_written_to_the_end_by_the_lifespan(made, tmp_path):
    settings = Settings(store=tmp_path / "state.json")

    for number in (1, 2):
        with running(*made(settings)) as client:
            answer = client.get("/v2/accounts", headers=headers_of(client))

        assert answer.headers["x-sandbox-request-id"] == f"req_000000000{number}"
