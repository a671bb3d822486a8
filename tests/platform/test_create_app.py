"""The sandbox as a Starlette application, alone and mounted under a prefix of another one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urljoin

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from sandbox.app import create_app
from sandbox.settings import Settings

SALE = {"amount": 1000}


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


@asynccontextmanager
async def client(app: Starlette, prefix: str) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url=f"http://localhost{prefix}") as asking,
    ):
        yield asking


def test_a_payment_is_taken_and_its_journal_read(made):
    async def story():
        async with client(*made()) as asking:
            world = (await asking.get("/_sandbox/worlds/default")).json()
            headers = {"x-service-apikey": world["keys"]["merchant"]["key"]}
            body = SALE | {"terminal_id": world["terminals"]["merchant"]}
            sale = await asking.post("/v3/payment", json=body, headers=headers)
            journal = (await asking.get("/_sandbox/worlds/default/requests")).json()
            return sale, journal["requests"][-1]

    sale, entry = asyncio.run(story())

    assert (sale.status_code, sale.json()["status"]) == (200, "captured")
    assert (entry["path"], entry["route"]) == ("/v3/payment", "payments.create")


def get(app: Starlette, prefix: str, *paths: str, **headers: str) -> list[httpx2.Response]:
    """The answers to these requests, while the application runs."""

    async def story():
        async with client(app, prefix) as asking:
            return [await asking.get(path, headers=headers) for path in paths]

    return asyncio.run(story())


def test_it_refuses_what_it_does_not_know_and_foreign_hosts_wherever_it_is_mounted(made):
    for answer in get(*made(), "/nonsense", "/_sandbox/nonsense", "/"):
        assert (answer.status_code, answer.json()["error"]) == (404, "not_found")
    (foreign,) = get(*made(), "/_sandbox/worlds", host="rebound.example")
    assert foreign.status_code == 421
    (around,) = get(mounted()[0], "", "/v2/accounts")
    assert around.text == "a page of the application around it"


def test_the_documents_name_the_place_where_it_is_mounted(made):
    app, prefix = made()
    paths = ("/_sandbox/openapi.json", "/_sandbox/platform/openapi.json")

    for path, answer in zip(paths, get(app, prefix, *paths), strict=True):
        assert urljoin(prefix + path, answer.json()["servers"][0]["url"]) == f"{prefix}/"


def test_a_state_file_is_written_to_the_end_by_the_lifespan(made, tmp_path):
    settings = Settings(store=tmp_path / "state.json")

    numbers = []

    for _ in range(2):
        (world,) = get(*made(settings), "/_sandbox/worlds/default")
        key = {"x-service-apikey": world.json()["keys"]["merchant"]["key"]}
        (answer,) = get(*made(settings), "/v2/accounts", **key)
        numbers.append(answer.headers["x-sandbox-request-id"])

    assert numbers == ["req_0000000001", "req_0000000002"]
