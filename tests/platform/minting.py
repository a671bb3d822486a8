"""How API-key tests get at keys, clocks, messages and citations. All of it through the API."""

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sandbox.app import build
from sandbox.domain.clock import ClockSetting
from sandbox.domain.instants import parse_rfc3339
from sandbox.domain.profile import Profile
from sandbox.settings import Settings
from tests.conftest import NOW
from tests.driving import InProcess, Response

PROJECT = Path(__file__).parents[2]

NOBODY = "00000000-0000-4000-8000-000000000000"
"""An id that no record has."""

CONCRETE = [
    *("payments:tap-ios", "payments:tap-android", "payments:read", "payments:refund"),
    *("payments:tipadjust", "payments:capture", "payments:incremental-auth", "payments:void"),
    "payments:confirm",
    *("batches:read", "batches:open", "batches:edit", "batches:close"),
    *("terminals:read", "terminals:create", "terminals:edit", "terminals:delete"),
    *("locations:read", "locations:create", "locations:edit", "locations:delete"),
    *("accounts:read", "accounts:create:partner", "accounts:create:merchant", "accounts:edit"),
    "accounts:delete",
    *("credentials:read", "credentials:create", "credentials:edit", "credentials:delete"),
    *("apikeys:read", "apikeys:create", "apikeys:edit", "apikeys:delete"),
    *("apikeys:read:sub", "apikeys:create:sub", "apikeys:edit:sub", "apikeys:delete:sub"),
    *("webhooks:read", "webhooks:create", "webhooks:edit", "webhooks:delete"),
]
"""Every permission that is not a macro: spec 2.2."""


# --- sandboxes --------------------------------------------------------------------------------


def sandbox_with(profile: Profile, fixture: str = "demo") -> InProcess:
    """A fresh sandbox under a profile, its clock frozen at NOW."""
    frozen = ClockSetting(now=parse_rfc3339(NOW), mode="frozen")
    settings = Settings(clock=frozen, profile=profile, fixture=fixture)
    return InProcess(build(settings), header=profile.api_key_header.lower())


def write_wider_cast(path: Path) -> str:
    """The demo cast with what it lacks: a child of the admin, a key of the deleted account."""
    cast = json.loads((PROJECT / "fixtures" / "demo.json").read_text(encoding="utf-8"))
    born = "2025-01-06T09:00:00.000Z"
    cast["accounts"]["14"] = {
        "cast": "admin_partner",
        "parent": "admin",
        "type": "partner",
        "name": "House Partner",
        "description": "Partner right below the administration",
        "created_at": born,
    }
    cast["api_keys"]["14"] = {
        "cast": "orphan",
        "account": "deleted_merchant",
        "lookup": "demoorphan00",
        "name": "Demo orphan key",
        "permissions": ["all"],
        "created_at": born,
    }
    path.write_text(json.dumps(cast), encoding="utf-8")
    return str(path)


# --- keys -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Minted:
    """A key that a test had made: its id, its plaintext, and the whole answer's body."""

    id: str
    key: str
    body: dict[str, Any]


def mint(
    sandbox: InProcess,
    permissions: list[str],
    *,
    by: str,
    account: str | None = None,
    name: str = "minted",
    **more: Any,
) -> Minted:
    """A key with exactly these permissions, on the caller's account or on one of the cast."""
    wanted = {"name": name, "permissions": permissions, **more}
    if account is not None:
        wanted["account_id"] = sandbox.account(account)
    answer = sandbox.ask("POST", "/v5/apikeys", key=by, json_body=wanted)
    assert answer.status == 201, answer.body
    body = answer.json()
    return Minted(body["id"], body["key"], body)


def put(sandbox: InProcess, id: str, *, by: str = "merchant", **changes: Any) -> Response:
    return sandbox.ask("PUT", f"/v5/apikeys/{id}", key=by, json_body=changes)


def read(sandbox: InProcess, id: str, *, by: str = "merchant") -> Any:
    answer = sandbox.ask("GET", f"/v5/apikeys/{id}", key=by)
    assert answer.status == 200, answer.body
    return answer.json()


def delete(sandbox: InProcess, id: str, *, by: str = "merchant") -> Response:
    return sandbox.ask("DELETE", f"/v5/apikeys/{id}", key=by)


def authenticates(sandbox: InProcess, key: str) -> bool:
    """Whether a request with this key gets past authentication, whatever comes then."""
    answer = sandbox.ask("GET", "/v5/apikeys", key=key)
    return answer.status != 401 or answer.json()["error"] != "authentication_failed"


# --- the world around them --------------------------------------------------------------------


def set_clock(sandbox: InProcess, now: str) -> None:
    answer = sandbox.control("PUT", f"/worlds/{sandbox.world}/clock", {"now": now})
    assert answer.status == 200, answer.body


def messages(sandbox: InProcess, **query: str) -> list[dict[str, Any]]:
    """The messages of the world, oldest first."""
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    answer = sandbox.control("GET", f"/worlds/{sandbox.world}/messages", query=asked)
    assert answer.status == 200, answer.body
    found: list[dict[str, Any]] = answer.json()["messages"]
    return found


def event_types(sandbox: InProcess, subject: str) -> list[str]:
    return [message["event_type"] for message in messages(sandbox, subject=subject)]


def refused_by(sandbox: InProcess, answer: Response) -> tuple[str, str, str]:
    """Step, verdict and clause of the last decision on a request."""
    last = sandbox.journal(answer)["decisions"][-1]
    return last["step"], last["verdict"], last["clause"]


# --- citations --------------------------------------------------------------------------------

_CITATION = re.compile(r"\b(spec|assumed) ((?:[A-Z]?\d)[\w.-]*\w|\d)")


@cache
def known_clauses() -> frozenset[str]:
    text = (PROJECT / "spec" / "clauses.toml").read_text(encoding="utf-8")
    return frozenset(f"{part} {id}" for part, ids in tomllib.loads(text).items() for id in ids)


def citations(sandbox: InProcess) -> Iterator[str]:
    """Everything that the journals of the sandbox cite: clauses, and mentions in notes."""
    for world in sandbox.sandbox.worlds:
        for entry in world.journal.entries():
            for _, _, reason, clause in entry.decisions:
                yield clause
                yield from (" ".join(found) for found in _CITATION.findall(reason))
            for note in entry.notes:
                yield from (" ".join(found) for found in _CITATION.findall(note))
