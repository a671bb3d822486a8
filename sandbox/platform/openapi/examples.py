"""For each operation, one request that succeeds in a fresh demo world.

The OpenAPI document and the forms of the docs page show them, and a test sends each. Rows only say
what does not follow from the kind of operation.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from msgspec.structs import replace

from sandbox.domain.json_text import map_texts
from sandbox.domain.profile import Profile
from sandbox.platform.operation import NOWHERE, Example, Row
from sandbox.platform.routes import OPERATIONS

Cast = Mapping[str, Mapping[str, str]]
"""Kind, such as `terminals`, to cast name to id."""

OF_CAST: Final = re.compile(r"\{(\w+)\.(\w+)\}")
"""A placeholder for an id of the cast: its kind and the name of the member."""
VERSION_OF_NAME: Final = re.compile(r"_v\d$")

_IN_CAST: Final = ("accounts", "terminals", "locations")
_MADE_BY: Final = {
    "payments": "payments.create",
    "refunds": "payments.create",
    "transactions": "payments.create",
    "batches": "batches.open",
}
"""The operation that creates a record of each resource, if it is not `create`."""


def _completed(row: Row) -> Example:
    """Return the example of a row, with what follows from its resource.

    The record in the path belongs to the merchant. A record that is not in the cast, or that the
    operation deletes, is created first.
    """
    resource, _, verb = row.name.partition(".")
    by = row.example.by or ("partner" if resource == "accounts" else "merchant")
    example = replace(row.example, operation=row.name, by=by)
    is_in_path = row.target is not None and row.target.where == "path"
    if example.id or not (is_in_path or example.takes):
        return example
    if resource in _IN_CAST and verb != "delete":
        return replace(example, id=f"{{{resource}.merchant}}")
    name = _MADE_BY.get(resource, f"{resource}.create")
    first = example.first or replace(_ROWS[name].example, operation=name)
    return replace(example, first=replace(first, by=first.by or by))


_ROWS: Final = {row.name: row for row in OPERATIONS if row.run is not None}
EXAMPLES: Final[Mapping[str, Example]] = {
    name: _completed(row) for name, row in _ROWS.items() if not VERSION_OF_NAME.search(name)
}


def example_of(row: str) -> Example | None:
    """Return the example of a row; all versions of a path share one."""
    return EXAMPLES.get(VERSION_OF_NAME.sub("", row))


def with_ids(value: Any, cast: Cast) -> Any:
    """Return the value with its placeholders replaced by ids of the cast."""

    def find_id(found: re.Match[str]) -> str:
        return cast.get(found[1], {}).get(found[2], NOWHERE)

    return map_texts(value, partial(OF_CAST.sub, find_id))


SCHEMA: Final = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
FOLDERS: Final = (
    *("accounts", "credentials", "terminals", "locations", "apikeys"),
    # A sale opens a batch by itself, so batches come before payments.
    *("batches", "payments", "refunds", "transactions"),
)
"""The resources, in an order in which all requests succeed."""

_LASTING: Final = ("create", "open", "update", "edit")
"""Operations that leave their record usable for the next request, as all reads do."""

_PARAMETER: Final = re.compile(r"\{\w+\}")

Item = dict[str, Any]


def collection(
    profile: Profile, *, version: str, url: str, keys: Mapping[str, str], cast: Cast
) -> dict[str, Any]:
    """Return the collection. `keys` and `cast` are those of the world that single requests use."""
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
    """Yield the requests of a resource; `made` are the examples whose records can be reused."""
    for operation, example in EXAMPLES.items():
        resource, _, verb = operation.partition(".")
        # An example in `made` was sent already, because another request needed its record.
        if resource != name or example in made:
            continue
        first = example.first
        if first is not None and first not in made:
            yield _item(first, header, made)
        yield _item(example, header, made)
        is_spent = _ROWS[operation].method != "GET" and verb not in _LASTING
        if is_spent and first in made:
            made.remove(first)


def _item(example: Example, header: str, made: list[Example]) -> Item:
    row, body = _ROWS[example.operation], _with_variables(example.body)
    id = _with_variables(example.id)
    if example.first is not None:
        id = f"{{{{{_variable(example.first)}}}}}"
        if example.takes:
            body = {**body, example.takes: id}
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
        body,
        script,
    )


def _variable(example: Example) -> str:
    """Return the name of the variable for the record that this example makes."""
    return f"{VERSION_OF_NAME.sub('', example.operation).replace('.', '_')}_{example.by}"


def _with_variables(value: Any) -> Any:
    """Return the value with a variable for each id of the cast."""
    return map_texts(value, partial(OF_CAST.sub, r"{{\1_\2}}"))


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
    name: str, method: str, url: str, headers: Mapping[str, str], body: Any, script: list[str]
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
