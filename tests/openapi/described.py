"""Holds answers against an OpenAPI document."""

import json
import re
from functools import cache, cached_property
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012
from starlette.routing import compile_path

from sandbox.app import Sandbox, build
from sandbox.control.routing import PREFIX
from sandbox.domain.faults import MISDIRECTED
from sandbox.settings import Settings
from tests.driving import FROZEN, InProcess, Response, fresh

CONSOLE = re.compile(rf"{PREFIX}/(docs|assets/[^/]*/[^/]*)?")
"""The console's page and its files."""

FORMATS = Draft202012Validator.FORMAT_CHECKER


class _Path(NamedTuple):
    """An operation of the document, with the pattern by which the router takes it."""

    method: str
    path: str
    operation: dict[str, Any]
    pattern: re.Pattern[str]


class Described:
    """A document, and which of what it describes was seen so far."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.seen: set[tuple[str, str]] = set()
        self._validators: dict[str, Draft202012Validator] = {}
        resource = DRAFT202012.create_resource(document)
        self._registry = Registry().with_resource("urn:document", resource)

    @cached_property
    def operations(self) -> dict[str, dict[str, Any]]:
        """By operationId."""
        return {one.operation["operationId"]: one.operation for one in self._paths}

    @cached_property
    def addresses(self) -> dict[str, tuple[str, str]]:
        """Method and path by operationId."""
        return {one.operation["operationId"]: (one.method, one.path) for one in self._paths}

    @cached_property
    def _paths(self) -> list[_Path]:
        paths: dict[str, Any] = self.document["paths"]
        return [
            _Path(method.upper(), path, operation, compile_path(path)[0])
            for path, item in paths.items()
            for method, operation in item.items()
        ]

    def _path(self, method: str, path: str) -> _Path | None:
        """The operation of a request: literal paths come before those with parameters."""
        fitting = [one for one in self._paths if one.method == method and one.pattern.match(path)]
        return min(fitting, key=lambda one: one.path.count("{"), default=None)

    def check(self, method: str, path: str, answer: Response) -> None:
        """Raises AssertionError for a status that is not described, or a body that is otherwise."""
        if method == "HEAD":
            # Answered as GET is; only a server leaves the body out (assumed D44).
            method = "GET"
        found = self._path(method, path)
        is_known = any(one.pattern.match(path) for one in self._paths)
        if not is_known and CONSOLE.fullmatch(path):
            return  # The document leaves out what is for a browser.
        if found is None:
            expected = 405 if is_known else 404
            is_foreign = answer.status == 403 and answer.json()["error"] == "foreign_origin"
            assert is_foreign or answer.status in (401, expected), (method, path, answer)
            return
        operation = found.operation
        name, status = operation["operationId"], str(answer.status)
        responses = operation["responses"]
        if answer.status == MISDIRECTED.status and status not in responses:
            # The server does not answer for this host, whatever was asked (assumed D25-hosts).
            assert answer.json()["error"] == MISDIRECTED.code, answer
            return
        assert status in responses, f"{name} answers {status}, which is not described: {answer}"
        escapes = {"~": "~0", "/": "~1", "{": "%7B", "}": "%7D"}
        path = found.path.translate(str.maketrans(escapes))
        pointer = f"/paths/{path}/{method.lower()}/responses/{status}"
        response = responses[status]
        if "$ref" in response:
            pointer = response["$ref"].removeprefix("#")
            response = self._registry.resolver("urn:document").lookup(response["$ref"]).contents
        self._check_body(name, pointer, response, answer)
        self.seen.add((name, status))

    def _check_body(
        self, name: str, pointer: str, response: dict[str, Any], answer: Response
    ) -> None:
        content = response.get("content")
        if content is None:
            assert (answer.body, answer.headers.get("content-type")) == (b"", None), name
            return
        media_type = answer.headers["content-type"]
        assert media_type in content, (name, media_type)
        if media_type == "application/json":
            self.validate(
                json.loads(answer.body), f"{pointer}/content/application~1json/schema", name
            )

    def validate(self, value: Any, pointer: str, name: str) -> None:
        """Raises AssertionError unless the value fits the schema at that place."""
        validator = self._validators.get(pointer)
        if validator is None:
            validator = Draft202012Validator(
                {"$ref": f"urn:document#{pointer}"},
                registry=self._registry,
                format_checker=FORMATS,
            )
            self._validators[pointer] = validator
        wrong = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]
        assert wrong == [], f"{name}: {wrong}"


class Checked(InProcess):
    """A sandbox of which every answer is held against the documents of its surfaces."""

    def __init__(self, sandbox: Sandbox, platform: Described, control: Described) -> None:
        super().__init__(sandbox, header=sandbox.worlds.profile.api_key_header.lower())
        self.platform, self.control_surface = platform, control

    def ask(self, method: str, path: str, **more: Any) -> Response:
        answer = super().ask(method, path, **more)
        surface = self.control_surface if path.startswith("/_sandbox/") else self.platform
        surface.check(method, path, answer)
        return answer


def checked(settings: Settings, documents: tuple[Described, Described] | None = None) -> Checked:
    """A fresh sandbox; with `documents`, those of another with the same settings."""
    sandbox = build(settings)
    return Checked(sandbox, *(documents or described(sandbox)))


class Unchecked(Checked):
    """A sandbox whose answers are not held against the documents: other tests do that."""

    ask = InProcess.ask


def unchecked(settings: Settings) -> Checked:
    """A fresh sandbox that may answer otherwise than the usual documents say."""
    return Unchecked(build(settings), *usual_documents())


def fresh_checked() -> Checked:
    """A sandbox like that of the fixture."""
    return checked(Settings(clock=FROZEN), usual_documents())


@cache
def usual_documents() -> tuple[Described, Described]:
    """What a sandbox under the neutral profile says of its surfaces."""
    return described(fresh().sandbox)


def described(sandbox: Sandbox) -> tuple[Described, Described]:
    """What the sandbox says of its platform and of its control API."""
    asked = InProcess(sandbox)
    paths = ("/_sandbox/platform/openapi.json", "/_sandbox/openapi.json")
    documents = [asked.ask("GET", path, query="strict=1").json() for path in paths]
    return Described(documents[0]), Described(documents[1])
