"""The row of a control endpoint, and the decorator that registers it."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Generic, TypeVar, get_args, get_origin

from msgspec import Struct
from pydantic import BaseModel

from sandbox.control.models import Body, Query, WholeBody
from sandbox.platform import wire
from sandbox.platform.operation import summary_of
from sandbox.platform.routing import register
from sandbox.platform.security import AnswerKind

T = TypeVar("T")
EndpointT = TypeVar("EndpointT", bound=Callable[..., Any])

PREFIX: Final = "/_sandbox"
WORLD: Final = f"{PREFIX}/worlds/{{w}}"

SNAPSHOT_BYTES_MAX: Final = 256 * 1_048_576
"""A larger snapshot is refused with 413. Source: assumed D25-bodies."""

JSON: Final = "application/json"
GZIP: Final = "application/gzip"
HTML: Final = "text/html; charset=utf-8"
CSS: Final = "text/css; charset=utf-8"
JAVASCRIPT: Final = "text/javascript; charset=utf-8"


class Written(Struct, Generic[T]):
    """An answer of the class `T`, already written out as the bytes to send.

    `media_type` is only given if it differs from that of the row.
    """

    body: wire.Body
    media_type: str | None = None


class Accepted(Struct, Generic[T]):
    """An answer of the class `T` with the status 202: the work continues after it."""

    content: T


class ControlRow(Struct, frozen=True, kw_only=True, eq=False):
    """One control endpoint.

    `body`, `query` and `answer` are the classes in the signature of `run`; `accepted` is that of a
    202 answer, for a function that may continue after it. `is_raw` rows take the body as bytes, up
    to SNAPSHOT_BYTES_MAX. `is_for_default` rows are answered by the server that has the world
    `default`. `is_open` rows need no token, and `is_for_operator` rows need the operator's. The
    result of an `is_stream` row is sent piece by piece; all others answer with `media_type`. An
    `is_ended_by_client` row can take long, and is canceled when the client disconnects. `refuses`
    lists the error statuses of the function itself. `kind` selects the headers of a success.
    """

    name: str
    method: str
    path: str
    summary: str
    run: Callable[..., Any]
    status: int
    body: type[Body | WholeBody[Any]] | None = None
    query: type[BaseModel] = Query
    answer: Any = None
    accepted: Any = None
    is_open: bool = False
    is_for_operator: bool = False
    is_for_default: bool = False
    is_raw: bool = False
    is_stream: bool = False
    is_ended_by_client: bool = False
    media_type: str = JSON
    kind: AnswerKind = AnswerKind.CONTROL
    refuses: tuple[int, ...] = ()

    @property
    def is_for_programs(self) -> bool:
        """Whether the OpenAPI document has it: the console's page and files are for a browser."""
        return self.kind not in (AnswerKind.CONSOLE, AnswerKind.ASSET)


def endpoint(method: str, path: str, name: str, **more: Any) -> Callable[[EndpointT], EndpointT]:
    """Register a function as the endpoint of a method; `more` are further fields of its row.

    Its parameters `body` and `query` name their classes, and the first sentence of its docstring
    is the summary. It answers 204 if it returns None.
    """

    def decorate(function: EndpointT) -> EndpointT:
        types = inspect.get_annotations(function)
        answer, accepted = _answers(types["return"])
        about: dict[str, Any] = {"answer": answer, "accepted": accepted, "run": function}
        about |= {word: types[word] for word in ("body", "query") if word in types}
        if about.get("body") is bytes:
            about |= {"body": None, "is_raw": True}
        about |= {"summary": summary_of(function), "status": 204 if answer is None else 200}
        about["kind"] = AnswerKind.OPEN if more.get("is_open") else AnswerKind.CONTROL
        row = ControlRow(name=name, method=method, path=path, **(about | more))
        register(function.__module__, row)
        return function

    return decorate


get = partial(endpoint, "GET")
post = partial(endpoint, "POST")
put = partial(endpoint, "PUT")
patch = partial(endpoint, "PATCH")
delete = partial(endpoint, "DELETE")


def _answers(returned: Any) -> tuple[Any, Any]:
    """Return the classes of the answer and of the 202 answer, from a return annotation."""
    accepted = next((one for one in get_args(returned) if get_origin(one) is Accepted), None)
    if accepted is not None:
        return _answers(get_args(returned)[0])[0], get_args(accepted)[0]
    return (get_args(returned)[0] if get_origin(returned) is Written else returned), None
