"""Documentation: OpenAPI documents, and the docs page."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic_core import from_json, to_json

from sandbox import library
from sandbox.control import openapi
from sandbox.control.context import ControlRequest, not_found
from sandbox.control.models import CSS, HTML, JAVASCRIPT, Document, Query, Written
from sandbox.control.routing import PREFIX, get
from sandbox.platform.openapi import document as platform


class ControlDocumentQuery(Query):
    """Which document of the control API: for generators of clients, or `strict` for fuzzing."""

    strict: bool = False


class PlatformDocumentQuery(ControlDocumentQuery):
    """Which document of the platform; a `pure` one leaves out what only the sandbox adds."""

    pure: bool = False


_PAGE: Final = Path(__file__).parent / "page"


@get(f"{PREFIX}/platform/openapi.json", "openapi.platform", is_open=True)
def read_platform_document(
    request: ControlRequest, query: PlatformDocumentQuery
) -> Written[Document]:
    """The platform as an OpenAPI document."""
    services = request.services
    return _write(
        platform.document,
        services.worlds.profile,
        version=services.version,
        url=_url(request, services.platform_url, "../.."),
        cast=_cast(request),
        sample=library.sample,
        strict=query.strict,
        pure=query.pure,
    )


@get(f"{PREFIX}/openapi.json", "openapi.control", is_open=True)
def read_control_document(
    request: ControlRequest, query: ControlDocumentQuery
) -> Written[Document]:
    """The control API as an OpenAPI document."""
    services = request.services
    return _write(
        openapi.document,
        services.endpoints,
        version=services.version,
        url="..",
        cast=_cast(request),
        needs_token=services.needs_token,
        strict=query.strict,
    )


@lru_cache(maxsize=8)
def _write(
    document: Callable[..., Document], about: Any, *, cast: bytes, **more: Any
) -> Written[Document]:
    """The document, which is written once for the same arguments."""
    return Written(to_json(document(about, cast=from_json(cast), **more)))


def _url(request: ControlRequest, other: str, root: str) -> str:
    """Where the platform is, seen from the document: `root`, unless it has a port of its own.

    A proxy in front may speak TLS or add a prefix, of which the request does not tell. `other` is
    the address of a platform with a port of its own, or "/".
    """
    if other == "/":
        return root
    asked = urlsplit(request.origin)
    host = asked.hostname
    if host is None:
        return other
    return f"{asked.scheme}://{f'[{host}]' if ':' in host else host}:{urlsplit(other).port}"


def _cast(request: ControlRequest) -> bytes:
    """The ids of the world `default`, which the examples name, as JSON."""
    cast = request.services.worlds.default.cast
    kinds = {"accounts": cast.accounts, "terminals": cast.terminals, "locations": cast.locations}
    return to_json({kind: dict(ids) for kind, ids in kinds.items()})


@get(
    f"{PREFIX}/ca.pem", "tls.ca", is_open=True, media_type="application/x-pem-file", refuses=(404,)
)
def read_ca(request: ControlRequest) -> Written[str]:
    """The certificate of the server's own authority, with --tls."""
    if request.services.ca is None:
        raise not_found("this server has no certificate authority of its own; start it with --tls")
    return Written(request.services.ca)


@get(f"{PREFIX}/docs", "docs.page", is_open=True, media_type=HTML)
def read_docs_page(request: ControlRequest) -> Written[str]:
    """A page to read and try the platform and the control API."""
    return _file("page.html")


@get(f"{PREFIX}/docs/page.css", "docs.style", is_open=True, media_type=CSS)
def read_docs_style(request: ControlRequest) -> Written[str]:
    """The style of the docs page."""
    return _file("page.css")


@get(f"{PREFIX}/docs/page.js", "docs.script", is_open=True, media_type=JAVASCRIPT)
def read_docs_script(request: ControlRequest) -> Written[str]:
    """The script of the docs page."""
    return _file("page.js")


def _file(name: str) -> Written[str]:
    return Written((_PAGE / name).read_bytes())
