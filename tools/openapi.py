"""The two OpenAPI documents, as a server with the demo world gives them: `make golden`."""

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from sandbox import __version__
from sandbox.control import docs as control
from sandbox.control.routes import CONTROL
from sandbox.domain.profile import Profile
from sandbox.library import sample
from sandbox.platform.openapi import document as platform
from tools.asking import InProcess

FOLDER: Final = Path(__file__).parents[1] / "docs" / "reference" / "openapi"

URL: Final = "http://127.0.0.1:8080"
"""Where a server is by default. One that serves its documents names itself by a relative URL."""


@cache
def documents() -> dict[str, str]:
    """File name to text."""
    ids = InProcess("demo", "2026-03-01T12:00:00Z").ids
    options: dict[str, Any] = {"version": __version__, "url": URL, "cast": ids}
    written = {
        "platform.json": platform.document(Profile(), sample=sample, **options),
        "control.json": control.document(CONTROL, needs_token=False, **options),
    }
    return {
        name: json.dumps(document, indent=1, ensure_ascii=False) + "\n"
        for name, document in written.items()
    }
