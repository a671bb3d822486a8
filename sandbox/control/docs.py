"""Control endpoints with documentation: OpenAPI documents, and the docs page."""

import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from sandbox.control.rows import ControlFault, ControlRequest, Document, Written

if TYPE_CHECKING:
    from sandbox.domain.profile import Profile

_PAGE: Final = Path(__file__).parent / "page"

Ids = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
"""The cast as a value that can be remembered: kind to names and ids."""


def platform(request: ControlRequest) -> Written[Document]:
    """The document of the platform, under the profile of this server."""
    services = request.services
    asked = request.query
    url = _url(request, services.platform_url, "../..")
    return _platform(
        services.worlds.profile,
        services.version,
        url,
        _ids(request),
        services.samples,
        asked.strict,
        asked.pure,
    )


def control(request: ControlRequest) -> Written[Document]:
    """The document of the control API."""
    services = request.services
    write = services.control_document
    url = ".."
    strict = request.query.strict
    return _control(write, services.version, url, services.needs_token, _ids(request), strict)


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


@lru_cache(maxsize=8)
def _platform(
    profile: "Profile",
    version: str,
    url: str,
    ids: Ids,
    sample: Callable[[str], str],
    strict: bool,
    pure: bool,
) -> Written[Document]:
    from sandbox.platform.openapi.document import document

    return _written(
        document(
            profile,
            version=version,
            url=url,
            cast=_cast(ids),
            sample=sample,
            strict=strict,
            pure=pure,
        )
    )


@lru_cache(maxsize=8)
def _control(
    write: Callable[..., Document],
    version: str,
    url: str,
    needs_token: bool,
    ids: Ids,
    strict: bool,
) -> Written[Document]:
    return _written(
        write(version=version, url=url, needs_token=needs_token, cast=_cast(ids), strict=strict)
    )


def _written(document: Document) -> Written[Document]:
    return Written(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode())


def _ids(request: ControlRequest) -> Ids:
    """The ids of the world `default`, which the examples name."""
    cast = request.services.worlds.default.cast
    kinds = {
        "accounts": cast.accounts,
        "terminals": cast.terminals,
        "locations": cast.locations,
    }
    return tuple((kind, tuple(sorted(ids.items()))) for kind, ids in kinds.items())


def _cast(ids: Ids) -> dict[str, dict[str, str]]:
    return {kind: dict(named) for kind, named in ids}


def ca(request: ControlRequest) -> Written[str]:
    """The certificate of the server's own authority, which phones and programs have to trust."""
    if request.services.ca is None:
        raise ControlFault(
            404,
            "not_found",
            "this server has no certificate authority of its own; start it with --tls",
        )
    return Written(request.services.ca)


def page(request: ControlRequest) -> Written[str]:
    """The page itself, which needs no network besides this server."""
    return _file("page.html")


def style(request: ControlRequest) -> Written[str]:
    """How the page looks."""
    return _file("page.css")


def script(request: ControlRequest) -> Written[str]:
    """The script of the page."""
    return _file("page.js")


def _file(name: str) -> Written[str]:
    return Written((_PAGE / name).read_bytes())
