"""Rows of locations. Source: spec 4.4-paths-locations; details assumed 1.5."""

from typing import Final

from msgspec.structs import replace

from sandbox.domain.access import need
from sandbox.domain.directory import Location, relate_with_admin_reach
from sandbox.platform.directory import operations as directory
from sandbox.platform.directory.routes import Paths, block_rows
from sandbox.platform.locations import bodies, operations
from sandbox.platform.rows import Listing, Row, Target

_PATHS: Final = Paths("locations", "/v1/locations", "location_id")
_TARGET: Final = Target(where="path", name="location_id", kind=Location)

ROWS: Final[tuple[Row, ...]] = (
    Row(
        name="locations.create",
        method="POST",
        path=_PATHS.collection,
        summary="Create a location",
        source="assumed 1.5-create",
        need=need("locations:create"),
        target=Target(where="body", name="account_id", is_required=True),
        run=operations.create,
        body=lambda _: bodies.CreateLocation,
        response=Location,
        status=201,
        events=("location.created",),
    ),
    Row(
        name="locations.list",
        method="GET",
        path=_PATHS.collection,
        summary="List locations",
        source="assumed 1.5",
        need=need("locations:read"),
        target=Target(where="query", name="account_id", relate=relate_with_admin_reach),
        run=operations.list_all,
        query=lambda _: bodies.LocationsQuery,
        response=Listing("locations", Location),
    ),
    Row(
        name="locations.read",
        method="GET",
        path=_PATHS.item,
        summary="Read a location",
        source="spec 4.4-paths-locations",
        need=need("locations:read"),
        # An admin reads any account's resources by id: assumed 4.7-admin.
        target=replace(_TARGET, relate=relate_with_admin_reach),
        run=directory.read,
        response=Location,
    ),
    Row(
        name="locations.update",
        method="PUT",
        path=_PATHS.item,
        summary="Change a location",
        source="assumed 1.5",
        need=need("locations:edit"),
        target=_TARGET,
        run=operations.update,
        body=lambda _: bodies.UpdateLocation,
        response=Location,
        events=("location.updated", "location.blocked", "location.unblocked"),
    ),
    Row(
        name="locations.delete",
        method="DELETE",
        path=_PATHS.item,
        summary="Delete a location",
        source="assumed 1.5",
        need=need("locations:delete"),
        target=_TARGET,
        run=directory.delete_and_answer,
        response=Location,
        status=204,
        events=("location.deleted",),
    ),
    *block_rows(
        _PATHS,
        _TARGET,
        need("locations:edit"),
        (directory.block, directory.unblock),
        Location,
        "location",
    ),
)
