"""How API-key tests get at keys, and at what happened to them. All of it through the API."""

import json
from pathlib import Path
from typing import Any

from tests.driving import InProcess, Response

PROJECT = Path(__file__).parents[2]


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


def put(sandbox: InProcess, id: str, *, by: str = "merchant", **changes: Any) -> Response:
    return sandbox.put(f"/v5/apikeys/{id}", changes, by=by)


def read(sandbox: InProcess, id: str, *, by: str = "merchant") -> Any:
    answer = sandbox.get(f"/v5/apikeys/{id}", by=by)
    assert answer.status == 200, answer.body
    return answer.json()


def delete(sandbox: InProcess, id: str, *, by: str = "merchant") -> Response:
    return sandbox.delete(f"/v5/apikeys/{id}", by=by)


def authenticates(sandbox: InProcess, key: str) -> bool:
    """Whether a request with this key gets past authentication, whatever comes then."""
    answer = sandbox.get("/v5/apikeys", by=key)
    return answer.status != 401 or answer.json()["error"] != "authentication_failed"


def event_types(sandbox: InProcess, subject: str) -> list[str]:
    return [message["event_type"] for message in sandbox.messages(subject=subject)]


def refused_by(sandbox: InProcess, answer: Response) -> tuple[str, str, str]:
    """Step, verdict and clause of the last decision on a request."""
    last = sandbox.journal(answer)["decisions"][-1]
    return last["step"], last["verdict"], last["clause"]
