"""Rows of the console in the browser: its session, its page, and its files."""

from typing import Final

from sandbox.control import (
    console_files,
    session,
    shapes,
)
from sandbox.control.rows import PREFIX, ControlRow
from sandbox.platform.security_headers import AnswerKind

ROWS: Final[tuple[ControlRow, ...]] = (
    ControlRow(
        name="session.read",
        method="GET",
        path=f"{PREFIX}/session",
        summary="Read whether this browser may use the control API",
        run=session.read,
        is_open=True,
        kind=AnswerKind.CONTROL,
    ),
    ControlRow(
        name="session.begin",
        method="POST",
        path=f"{PREFIX}/session",
        summary="Exchange the token for a cookie",
        run=session.begin,
        body=lambda: shapes.SessionBody,
        is_open=True,
        kind=AnswerKind.CONTROL,
        refuses=(401, 403),
    ),
    ControlRow(
        name="session.end",
        method="DELETE",
        path=f"{PREFIX}/session",
        summary="End the session of this browser",
        run=session.end,
        status=204,
        is_open=True,
        kind=AnswerKind.CONTROL,
        refuses=(403,),
    ),
    ControlRow(
        name="console.page",
        method="GET",
        path=f"{PREFIX}/",
        summary="The web console",
        run=console_files.page,
        is_open=True,
        media_type="text/html; charset=utf-8",
        kind=AnswerKind.CONSOLE,
    ),
    ControlRow(
        name="console.asset",
        method="GET",
        path=f"{PREFIX}/assets/{{v}}/{{name}}",
        summary="A script or style sheet of the console",
        run=console_files.asset,
        is_open=True,
        media_type="text/javascript; charset=utf-8",
        kind=AnswerKind.ASSET,
        refuses=(404,),
    ),
)
