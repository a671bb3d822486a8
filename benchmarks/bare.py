"""The yardstick: a bare Starlette application with one route, for uvicorn to serve.

Its answer comes from the environment, so it can equal the bytes of another server. It checks the
body of a POST with pydantic, like any application.
"""

import json
import os
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

ANSWER_VARIABLE: Final = "BENCH_ANSWER"

_DEFAULT: Final = '{"path": "/", "body": "{}", "headers": {"content-type": "application/json"}}'
_ANSWER: Final[dict[str, Any]] = json.loads(os.environ.get(ANSWER_VARIABLE, _DEFAULT))
_BODY: Final[bytes] = _ANSWER["body"].encode()
_HEADERS: Final[dict[str, str]] = _ANSWER["headers"]


async def _answer(request: Request) -> Response:
    return Response(_BODY, headers=_HEADERS)


def _checking() -> Any:
    from sandbox.platform.payments.bodies import StartPayment

    async def checked_answer(request: Request) -> Response:
        StartPayment.model_validate_json(await request.body())
        return Response(_BODY, headers=_HEADERS)

    return checked_answer


_ROUTES: Final = [Route(_ANSWER["path"], _answer)]
if _ANSWER.get("checks_payments"):
    _ROUTES.append(Route(_ANSWER["path"], _checking(), methods=["POST"]))

app = Starlette(routes=_ROUTES)
