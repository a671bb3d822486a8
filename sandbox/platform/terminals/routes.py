"""Rows of terminals. Source: spec 4.4-paths-terminals; details assumed 1.4."""

from typing import Final

from msgspec.structs import replace

from sandbox.domain.access import need
from sandbox.domain.directory import Terminal, relate_with_admin_reach
from sandbox.domain.faults import CONFLICT, NO_CREATOR
from sandbox.domain.readings import TERMINAL_CREATORS
from sandbox.platform.directory import operations as directory
from sandbox.platform.directory.routes import Paths, block_rows
from sandbox.platform.rows import Listing, Row, Target
from sandbox.platform.terminals import bodies, operations

_PATHS: Final = Paths("terminals", "/v2/terminals", "terminal_id")
_TARGET: Final = Target(where="path", name="terminal_id", kind=Terminal)

ROWS: Final[tuple[Row, ...]] = (
    Row(
        name="terminals.create",
        method="POST",
        path=_PATHS.collection,
        summary="Create a terminal",
        source="assumed 1.4-create",
        need=need("terminals:create"),
        target=Target(where="body", name="account_id", is_required=True),
        run=operations.create,
        body=lambda _: bodies.CreateTerminal,
        response=Terminal,
        status=201,
        events=("terminal.created",),
        refuses=(CONFLICT,),
        refuses_where=((TERMINAL_CREATORS, "partner_and_above", NO_CREATOR),),
    ),
    Row(
        name="terminals.list",
        method="GET",
        path=_PATHS.collection,
        summary="List terminals",
        source="assumed 1.4-list",
        need=need("terminals:read"),
        target=Target(where="query", name="account_id", relate=relate_with_admin_reach),
        run=operations.list_all,
        query=lambda _: bodies.TerminalsQuery,
        response=Listing("terminals", Terminal),
    ),
    Row(
        name="terminals.read",
        method="GET",
        path=_PATHS.item,
        summary="Read a terminal",
        source="spec 4.4-paths-terminals",
        need=need("terminals:read"),
        # An admin reads any account's resources by id: assumed 4.7-admin.
        target=replace(_TARGET, relate=relate_with_admin_reach),
        run=operations.read,
        response=Terminal,
    ),
    Row(
        name="terminals.update",
        method="PUT",
        path=_PATHS.item,
        summary="Change a terminal",
        source="assumed 1.4",
        need=need("terminals:edit"),
        target=_TARGET,
        run=operations.update,
        body=lambda _: bodies.UpdateTerminal,
        response=Terminal,
        events=("terminal.updated", "terminal.blocked", "terminal.unblocked"),
        refuses=(CONFLICT,),
    ),
    Row(
        name="terminals.delete",
        method="DELETE",
        path=_PATHS.item,
        summary="Delete a terminal",
        source="assumed 1.4",
        need=need("terminals:delete"),
        target=_TARGET,
        run=operations.delete,
        response=Terminal,
        status=204,
        events=("terminal.deleted",),
        refuses=(CONFLICT,),
    ),
    *block_rows(
        _PATHS,
        _TARGET,
        need("terminals:edit"),
        (directory.block, directory.unblock),
        Terminal,
        "terminal",
    ),
)
