"""Answers stay with their reader: no CORS anywhere, nothing guessed, nothing stored."""

import re

import pytest

from sandbox.control.routes import CONTROL
from sandbox.platform.routes import OPERATIONS
from sandbox.platform.security import SECURITY_HEADERS
from tests.driving import InProcess, Response, fresh

PREFLIGHT = [
    (b"host", b"127.0.0.1:8080"),
    (b"origin", b"https://evil.example"),
    (b"access-control-request-method", b"POST"),
    (b"access-control-request-headers", b"content-type,x-service-apikey"),
    (b"access-control-request-private-network", b"true"),
]
ON_THE_LOOP = {"stream.read", "messages.wait"}
"""They do not answer at once; the stream's headers are looked at where streams are tested."""


@pytest.fixture(scope="module")
def sandbox() -> InProcess:
    """One for all: what becomes of it does not matter to its headers."""
    return fresh(ca=b"a certificate")


def asked(sandbox: InProcess, method: str, path: str, **more) -> Response:
    return sandbox.ask(method, re.sub(r"\{(\w+)\}", "default", path), **more)


def is_document(row) -> bool:
    """Whether a success of the row holds nothing of anybody. A file of no version is refused."""
    return row.is_open and not row.name.startswith("session.") and row.name != "console.asset"


@pytest.mark.proves("assumed D25-headers")
def test_no_answer_of_either_surface_lets_another_origin_read_it(sandbox):
    for row in (*OPERATIONS, *CONTROL):
        key = {"key": "merchant"} if row in OPERATIONS else {}
        preflight = asked(sandbox, "OPTIONS", row.path, headers=PREFLIGHT)
        answers = [preflight, asked(sandbox, row.method, row.path, headers=PREFLIGHT)]
        if row.name not in ON_THE_LOOP:
            answers.append(asked(sandbox, row.method, row.path, **key))

        names = [name for one in answers for name in one.headers]
        found = [one for one in names if one.startswith(("access-control-", "timing-allow"))]
        assert (found, preflight.status in (405, 403)) == ([], True), row.name


# --- the control API ------------------------------------------------------------------------


@pytest.mark.proves("assumed D25-headers")
def test_every_answer_of_the_control_surface_has_its_headers(sandbox):
    for row in CONTROL:
        if row.name in ON_THE_LOOP:
            continue
        headers = asked(sandbox, row.method, row.path).headers
        shown = {one.name: headers.get(one.name) for one in SECURITY_HEADERS}
        policy = shown.pop("content-security-policy")
        assert shown == {
            "x-content-type-options": "nosniff",
            "cache-control": "no-cache" if is_document(row) else "no-store",
            "referrer-policy": "no-referrer",
            "cross-origin-resource-policy": "same-origin",
        }, row.name
        directives = dict(one.strip().partition(" ")[::2] for one in policy.split(";"))
        assert directives["default-src"] == directives["frame-ancestors"] == "'none'", row.name
        is_page = row.name.startswith("docs.") or row.name == "console.page"
        assert ("script-src" in directives) == is_page, row.name
