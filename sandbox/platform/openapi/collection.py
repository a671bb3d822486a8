"""The platform as a Postman collection, which Bruno and Insomnia import too.

It begins by making a world of its own and ends by deleting it, so it can be run again and again.
Each request has what it needs: one that needs a record follows the request that makes it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sandbox.domain.profile import Profile
from sandbox.platform.openapi.examples import EXAMPLES, OF_CAST, VERSION_OF_NAME, Cast
from sandbox.platform.operation import Example, Row
from sandbox.platform.routes import OPERATIONS

SCHEMA: Final = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
FOLDERS: Final = (
    *("accounts", "credentials", "terminals", "locations", "apikeys"),
    # A sale opens a batch by itself, so batches come before payments.
    *("batches", "payments", "refunds", "transactions"),
)
"""The resources in an order in which all requests succeed."""

_LASTING: Final = ("create", "open", "list", "read", "update", "edit")
"""Operations after which the record that they were given is as good as new."""

_PARAMETER: Final = re.compile(r"\{\w+\}")

Item = dict[str, Any]


def collection(
    profile: Profile, *, version: str, url: str, keys: Mapping[str, str], cast: Cast
) -> dict[str, Any]:
    """The collection. `keys` and `cast` are those of the world that single requests use."""
    variables = {"baseUrl": url, "token": "", "world": "default"}
    variables |= {f"key_{name}": key for name, key in keys.items()}
    variables |= {
        f"{kind}_{name}": id for kind, members in cast.items() for name, id in members.items()
    }
    made: list[Example] = []
    folders = [
        {"name": name, "item": list(_folder(name, profile.api_key_header, made))}
        for name in FOLDERS
    ]
    return {
        "info": {
            "name": f"Card payment platform (uat-sandbox {version})",
            "description": "Run the whole collection, or send single requests to the world "
            "`default` of a sandbox on this machine.",
            "schema": SCHEMA,
        },
        "item": [_new_world(), *folders, _no_world()],
        "variable": [{"key": name, "value": value} for name, value in variables.items()],
    }


def _folder(name: str, header: str, made: list[Example]) -> Iterator[Item]:
    """The requests of a resource; `made` are the examples whose records can be used again."""
    for row in OPERATIONS:
        resource, _, verb = row.name.partition(".")
        example = EXAMPLES.get(row.name)
        if resource != name or row.run is None or example is None:
            continue
        first = example.first
        if example in made:
            # It was sent already, because another request needed its record.
            continue
        if first is not None and first not in made:
            maker = next(one for one in OPERATIONS if one.name == first.operation)
            yield _item(maker, first, header, made)
        yield _item(row, example, header, made)
        if first is not None and verb not in _LASTING and first in made:
            made.remove(first)


def _item(row: Row, example: Example, header: str, made: list[Example]) -> Item:
    needs = example.first
    body = _with_variables(example.body)
    if needs is not None and example.takes:
        body = {**body, example.takes: f"{{{{{_variable(needs)}}}}}"}
    id = f"{{{{{_variable(needs)}}}}}" if needs is not None else _with_variables(example.id)
    script = [f'pm.test("answers {row.status}", () => pm.response.to.have.status({row.status}));']
    if any(one.first == example for one in EXAMPLES.values()):
        made.append(example)
        script += [
            "const made = pm.response.json();",
            "const id = made.transaction_id || made.id || made.terminal_id;",
            f'pm.collectionVariables.set("{_variable(example)}", id);',
        ]
    return _request(
        row.summary,
        row.method,
        "{{baseUrl}}" + _PARAMETER.sub(lambda _: id, row.path),
        {header: f"{{{{key_{example.by}}}}}"},
        body if example.body is not None else None,
        script,
    )


def _variable(example: Example) -> str:
    """The name of the variable for the record that this example makes."""
    return f"{VERSION_OF_NAME.sub('', example.operation).replace('.', '_')}_{example.by}"


def _with_variables(value: Any) -> Any:
    """The value with a variable for each id of the cast."""
    if isinstance(value, Mapping):
        return {name: _with_variables(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_with_variables(one) for one in value]
    if isinstance(value, str):
        return OF_CAST.sub(lambda found: f"{{{{{found[1]}_{found[2]}}}}}", value)
    return value


def _new_world() -> Item:
    script = [
        'pm.test("answers 201", () => pm.response.to.have.status(201));',
        "const world = pm.response.json();",
        'pm.collectionVariables.set("world", world.id);',
        "for (const name of Object.keys(world.keys)) {",
        '  pm.collectionVariables.set("key_" + name, world.keys[name].key);',
        "}",
        'for (const kind of ["accounts", "terminals", "locations"]) {',
        "  for (const name of Object.keys(world[kind])) {",
        '    pm.collectionVariables.set(kind + "_" + name, world[kind][name]);',
        "  }",
        "}",
    ]
    url = "{{baseUrl}}/_sandbox/worlds"
    return _request("Make a world for this run", "POST", url, _BEARER, {}, script)


def _no_world() -> Item:
    url = "{{baseUrl}}/_sandbox/worlds/{{world}}"
    script = ['pm.test("answers 204", () => pm.response.to.have.status(204));']
    return _request("Delete the world of this run", "DELETE", url, _BEARER, None, script)


_BEARER: Final = {"authorization": "Bearer {{token}}"}
"""A server on this machine ignores it; others need their token in the variable."""


def _request(
    name: str,
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: Any,
    script: list[str],
) -> Item:
    sent = dict(headers)
    request: Item = {"method": method, "url": url}
    if body is not None:
        sent["content-type"] = "application/json"
        request["body"] = {
            "mode": "raw",
            "raw": json.dumps(body, indent=2),
            "options": {"raw": {"language": "json"}},
        }
    request["header"] = [{"key": key, "value": value} for key, value in sent.items()]
    test = {"listen": "test", "script": {"type": "text/javascript", "exec": script}}
    return {"name": name, "request": request, "event": [test]}
