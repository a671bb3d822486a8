"""Rows of journal, messages, coverage, ledger and documentation."""

from typing import TYPE_CHECKING, Final

from sandbox.control.rows import GZIP, PREFIX, WORLD, ControlRow
from sandbox.platform.lazy import LazyFunctions, LazyModule

if TYPE_CHECKING:
    from sandbox.control import (
        capturing,
        coverage,
        docs,
        ledger,
        metrics,
        observe,
        report_page,
        shapes,
        streaming,
    )
else:
    capturing = LazyFunctions("sandbox.control.capturing")
    coverage = LazyFunctions("sandbox.control.coverage")
    docs = LazyFunctions("sandbox.control.docs")
    ledger = LazyFunctions("sandbox.control.ledger")
    metrics = LazyFunctions("sandbox.control.metrics")
    observe = LazyFunctions("sandbox.control.observe")
    report_page = LazyFunctions("sandbox.control.report_page")
    streaming = LazyFunctions("sandbox.control.streaming")
    shapes = LazyModule("sandbox.control.shapes")


ROWS: Final[tuple[ControlRow, ...]] = (
    ControlRow(
        name="metrics",
        method="GET",
        path=f"{PREFIX}/metrics",
        summary="Read the metrics of the server, in the format of Prometheus",
        run=metrics.show,
        is_for_operator=True,
        media_type="text/plain; version=0.0.4; charset=utf-8",
    ),
    ControlRow(
        name="requests.list",
        method="GET",
        path=f"{WORLD}/requests",
        summary="List a world's journal, newest last",
        run=observe.requests,
        query=lambda: shapes.RequestsQuery,
    ),
    ControlRow(
        name="requests.clear",
        method="DELETE",
        path=f"{WORLD}/requests",
        summary="Clear a world's journal",
        run=observe.forget_requests,
        status=204,
    ),
    ControlRow(
        name="requests.read",
        method="GET",
        path=f"{WORLD}/requests/{{id}}",
        summary="Read a request of the journal",
        run=observe.request,
    ),
    ControlRow(
        name="capture.read",
        method="GET",
        path=f"{WORLD}/capture",
        summary="Capture a world: all that can be seen of it, without keys, as gzipped JSON",
        run=capturing.read,
        media_type=GZIP,
    ),
    ControlRow(
        name="report.page",
        method="GET",
        path=f"{PREFIX}/report.html",
        summary="The console as one file that shows captures and needs no server",
        run=report_page.page,
        media_type="text/html; charset=utf-8",
    ),
    ControlRow(
        name="stream.read",
        method="GET",
        path=f"{WORLD}/stream",
        summary="Stream the events of a world as server-sent events",
        run=streaming.read_along,
        query=lambda: shapes.StreamQuery,
        is_stream=True,
        refuses=(429,),
    ),
    ControlRow(
        name="coverage.read",
        method="GET",
        path=f"{WORLD}/coverage",
        summary="Read the coverage of the platform in a world",
        run=coverage.of_world,
    ),
    ControlRow(
        name="coverage.total",
        method="GET",
        path=f"{PREFIX}/coverage",
        summary="Read the coverage of the platform in all worlds",
        run=coverage.of_server,
    ),
    ControlRow(
        name="ledger.read",
        method="GET",
        path=f"{PREFIX}/ledger",
        summary="Read each clause with the code that implements it and the tests that prove it",
        run=ledger.ledger,
        query=lambda: shapes.LedgerQuery,
    ),
    ControlRow(
        name="openapi.control",
        method="GET",
        path=f"{PREFIX}/openapi.json",
        summary="The control API as an OpenAPI document",
        run=docs.control,
        query=lambda: shapes.ControlDocumentQuery,
        is_open=True,
    ),
    ControlRow(
        name="openapi.platform",
        method="GET",
        path=f"{PREFIX}/platform/openapi.json",
        summary="The platform as an OpenAPI document",
        run=docs.platform,
        query=lambda: shapes.PlatformDocumentQuery,
        is_open=True,
    ),
    ControlRow(
        name="tls.ca",
        method="GET",
        path=f"{PREFIX}/ca.pem",
        summary="The certificate of the server's own authority, with --tls",
        run=docs.ca,
        is_open=True,
        media_type="application/x-pem-file",
        refuses=(404,),
    ),
    ControlRow(
        name="docs.page",
        method="GET",
        path=f"{PREFIX}/docs",
        summary="A page to read and try the platform and the control API",
        run=docs.page,
        is_open=True,
        media_type="text/html; charset=utf-8",
    ),
    ControlRow(
        name="docs.style",
        method="GET",
        path=f"{PREFIX}/docs/page.css",
        summary="The style of the docs page",
        run=docs.style,
        is_open=True,
        media_type="text/css; charset=utf-8",
    ),
    ControlRow(
        name="docs.script",
        method="GET",
        path=f"{PREFIX}/docs/page.js",
        summary="The script of the docs page",
        run=docs.script,
        is_open=True,
        media_type="text/javascript; charset=utf-8",
    ),
)
