"""Rows that the directory resources have in common: block and unblock."""

from collections.abc import Callable
from typing import Any, NamedTuple

from sandbox.domain.access import Need
from sandbox.domain.faults import Fault
from sandbox.platform.operation_context import OperationContext
from sandbox.platform.rows import Row, Target

Run = Callable[[OperationContext], Any]


class Paths(NamedTuple):
    """Where a resource is served: its name in rows, its collection, the parameter with an id."""

    name: str
    collection: str
    parameter: str

    @property
    def item(self) -> str:
        """The path of one."""
        return f"{self.collection}/{{{self.parameter}}}"


def block_rows(
    paths: Paths,
    target: Target,
    wanted: Need,
    runs: tuple[Run, Run],
    response: Any,
    event: str,
    *,
    unblock_refuses: tuple[Fault, ...] = (),
) -> tuple[Row, Row]:
    """The two aliases of setting the status in an update. Source: assumed 1.10."""
    block, unblock = runs
    return (
        Row(
            name=f"{paths.name}.block",
            method="POST",
            path=f"{paths.item}/block",
            summary=f"Block one of the {paths.name}",
            source="assumed 1.10",
            need=wanted,
            target=target,
            run=block,
            response=response,
            events=(f"{event}.blocked",),
        ),
        Row(
            name=f"{paths.name}.unblock",
            method="POST",
            path=f"{paths.item}/unblock",
            summary=f"Unblock one of the {paths.name}",
            source="assumed 1.10",
            need=wanted,
            target=target,
            run=unblock,
            response=response,
            events=(f"{event}.unblocked",),
            refuses=unblock_refuses,
        ),
    )
