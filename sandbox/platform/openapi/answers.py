"""Answers of operations, as examples in the documents. `make golden` records them."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

from sandbox.platform.openapi.words import Schema

PLATFORM: Final = Path(__file__).parent / "platform_answers.json"


@cache
def _answers(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def add_answers(document: Schema, path: Path) -> None:
    """Put the recorded answers of the file into the document."""
    answers = _answers(path)
    for item in document["paths"].values():
        for operation in item.values():
            if operation["operationId"] in answers:
                _content(operation)["example"] = answers[operation["operationId"]]


def _content(operation: Schema) -> Schema:
    success = next(one for status, one in operation["responses"].items() if status[0] == "2")
    content: Schema = success["content"]["application/json"]
    return content


def add_bodies(document: Schema, sample: Callable[[str], str]) -> None:
    """Put the sample body of each event into its webhook; `sample` gives it as JSON."""
    for name, webhook in document.get("webhooks", {}).items():
        content = webhook["post"]["requestBody"]["content"]["application/json"]
        content["example"] = json.loads(sample(name))
