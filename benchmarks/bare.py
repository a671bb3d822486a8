"""A bare Starlette application, the yardstick: one route that gives a fixed answer.

BARE_ANSWER in the environment holds the answer, so it has the same bytes as the sandbox's. The
application checks the body of a POST as any application does.
"""

import json
import os
from typing import Any, Literal

from pydantic import BaseModel, PositiveInt, StrictStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

DEFAULT = '{"method": "GET", "path": "/", "headers": {}, "body": "ok"}'
ANSWER = json.loads(os.environ.get("BARE_ANSWER", DEFAULT))
BODY = ANSWER["body"].encode()
HEADERS = ANSWER["headers"]


class Sale(BaseModel):
    """The body of a sale."""

    amount: PositiveInt
    terminal_id: StrictStr | None = None
    location_id: StrictStr | None = None
    account_id: StrictStr | None = None
    currency: Literal["USD", "CAD"] | None = None
    event_id: StrictStr | None = None
    type: Literal["sale", "auth"] | None = None
    card_reader_data: dict[str, Any] | None = None
    additional_details: dict[str, Any] | None = None


async def answer(request: Request) -> Response:
    """Give the fixed answer."""
    if request.method == "POST":
        Sale.model_validate_json(await request.body())
    return Response(BODY, headers=HEADERS)


app = Starlette(routes=[Route(ANSWER["path"], answer, methods=[ANSWER["method"]])])
