"""The two OpenAPI documents of a server with the demo world: `make golden`."""

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from sandbox import __version__
from sandbox.cli.control_client import DEFAULT_URL
from sandbox.control import docs as control
from sandbox.control.routes import CONTROL
from sandbox.domain.profile import Profile
from sandbox.library import sample
from sandbox.platform.openapi import document as platform
from tools.asking import InProcess

FOLDER: Final = Path(__file__).parents[1] / "docs" / "reference" / "openapi"


@cache
def documents() -> dict[str, str]:
    """Return the documents by file name. A server names itself in them by a relative URL."""
    ids = InProcess("demo", "2026-03-01T12:00:00Z").ids
    options: dict[str, Any] = {"version": __version__, "url": DEFAULT_URL, "cast": ids}
    written = {
        "platform.json": platform.document(Profile(), sample=sample, **options),
        "control.json": control.document(CONTROL, needs_token=False, **options),
    }
    return {
        name: json.dumps(document, indent=1, ensure_ascii=False) + "\n"
        for name, document in written.items()
    }
