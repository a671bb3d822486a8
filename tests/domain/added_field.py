"""A sandbox whose records have one more field, in a process of its own: prints what it shows.

Each class gets one line in its source before anything imports it, as a developer would write it.
"""

import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

LINE = "    note: Annotated[str, StringConstraints(strict=True, max_length=5)] | None = None\n"

CLASSES = {
    "sandbox.domain.directory": ("Account", "Terminal", "Location", "CredentialView"),
    "sandbox.domain.keys": ("ApiKeyView",),
    "sandbox.domain.payments.transactions": ("Transaction",),
    "sandbox.domain.batches": ("Batch",),
    "sandbox.domain.webhooks": ("Endpoint",),
}


def with_notes(module: str, classes: tuple[str, ...]) -> None:
    """Import the module as if each of the classes had the field."""
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).read_text(encoding="utf-8")
    imports = "from typing import Annotated\nfrom pydantic import StringConstraints\n\n\nclass "
    source = source.replace("\nclass ", f"\n{imports}", 1)
    for name in classes:
        # Before the last field, so its place in the class decides about its place in answers.
        source, found = re.subn(
            rf"(class {name}\(.*?\n)(    created_at: |    opened_at: )",
            rf"\1{LINE}\2",
            source,
            count=1,
            flags=re.DOTALL,
        )
        assert found == 1, name
    sys.modules[module] = made = importlib.util.module_from_spec(spec)
    exec(compile(source, spec.origin, "exec"), made.__dict__)


def main(folder: Path) -> None:
    """Print the answers of the sandbox as one JSON object."""
    from sandbox.app import build
    from sandbox.settings import Settings
    from sandbox.store.fixture import FixtureError
    from tests.driving import InProcess

    document = json.loads(Path("fixtures/demo.json").read_text(encoding="utf-8"))
    for table in ("accounts", "terminals", "locations", "api_keys"):
        document[table] = {id: {**one, "note": "abc"} for id, one in document[table].items()}
    document["endpoints"] = {
        "1": {
            **{"cast": "hook", "created_at": "2026-01-01T00:00:00.000Z"},
            **{"url": "http://receiver.invalid/", "note": "abc"},
        }
    }
    fixture = folder / "noted.json"
    fixture.write_text(json.dumps(document), encoding="utf-8")
    sandbox = InProcess(build(Settings(fixture=str(fixture))))
    shown: dict[str, Any] = {}

    def ask(method: str, path: str, body: Any = ..., key: str = "psp") -> Any:
        answer = sandbox.ask(method, path, key=key, json_body=body)
        return json.loads(answer.body)

    terminal = ask("GET", "/v2/terminals")["terminals"][0]
    body = {"account_id": terminal["account_id"]}
    shown["Account"] = ask("GET", "/v1/accounts")["accounts"][0]
    shown["Terminal"] = terminal
    shown["Location"] = ask("GET", "/v1/locations")["locations"][0]
    shown["ApiKeyView"] = ask("GET", f"/v5/apikeys/{sandbox.key_id('merchant')}")
    shown["CredentialView"] = ask("POST", "/v1/accounts/credentials", body, "partner")
    opened = {"terminal_id": terminal["terminal_id"]}
    shown["Batch"] = ask("POST", "/v1/batches/open", opened, "partner")
    sale = {"event_id": str(uuid4()), "terminal_id": terminal["terminal_id"], "amount": 1000}
    paid = ask("POST", "/v3/payment", sale, "partner")
    schemas = ask("GET", "/_sandbox/platform/openapi.json")["components"]["schemas"]
    messages = ask("GET", "/_sandbox/worlds/default/messages")["messages"]
    paths = [f"/_sandbox/worlds/default/messages/{one['id']}" for one in messages]

    saved = ask("GET", "/_sandbox/worlds/default/snapshot")
    (payment,) = saved["transactions"].values()
    payment["transaction"]["note"] = "abc"
    other = InProcess(build(Settings()))
    loaded = other.control("PUT", "/worlds/default/snapshot", saved)
    again = json.loads(other.control("GET", "/worlds/default/snapshot").body)
    path = f"/v1/transactions/{paid['transaction_id']}"
    shown["TransactionView"] = json.loads(other.ask("GET", path, key="partner").body)
    refusals = {}
    for table in ("accounts", "terminals", "locations", "endpoints", "api_keys"):
        changed = json.loads(json.dumps(saved))
        next(iter(changed[table].values()))["note"] = "too long"
        answer = other.control("PUT", "/worlds/default/snapshot", changed)
        refusals[table] = json.loads(answer.body)["message"]
    payment["transaction"]["note"] = "too long"
    answer = other.control("PUT", "/worlds/default/snapshot", saved)
    payment["transaction"]["note"] = "abc"
    mistakes = {}
    for table in refusals:
        changed = json.loads(json.dumps(document))
        next(iter(changed[table].values()))["note"] = "too long"
        fixture.write_text(json.dumps(changed), encoding="utf-8")
        try:
            build(Settings(fixture=str(fixture)))
        except (FixtureError, ValueError) as error:
            mistakes[table] = str(error)
    found = {
        "answers": shown,
        "schemas": {name: schemas[name]["properties"] for name in shown},
        "bodies": [ask("GET", path)["body"] for path in paths],
        "loaded": loaded.status,
        "snapshots": [
            {
                "transactions": [
                    one["transaction"]["note"] for one in tables["transactions"].values()
                ],
                **{
                    table: [one.get("note") for one in tables[table].values()] for table in mistakes
                },
            }
            for tables in (saved, again)
        ],
        "refusals": refusals | {"transactions": json.loads(answer.body)["message"]},
        "mistakes": mistakes,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    for module, classes in CLASSES.items():
        with_notes(module, classes)
    main(Path(sys.argv[1]))
