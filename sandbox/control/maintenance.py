"""Maintenance of a world: for a while every request to the platform is refused with 503."""

from sandbox.control.context import ControlRequest, invalid
from sandbox.control.models import Body, DurationText, Time, View
from sandbox.control.routing import WORLD, delete, get, put
from sandbox.domain.clock import LATEST
from sandbox.domain.instants import parse_duration


class MaintenanceBody(Body, example={"lasts": "10m"}):
    """How long the maintenance lasts from now on, on the world's clock."""

    lasts: DurationText


class Maintenance(View):
    """Until when the platform is under maintenance; null if it is not."""

    until: Time | None


@get(f"{WORLD}/maintenance", "maintenance.read")
def read_maintenance(request: ControlRequest) -> Maintenance:
    """Read until when a world is under maintenance."""
    until = request.world.state.maintenance_until
    return Maintenance(until=None if until is None or until <= request.world.now() else until)


@put(f"{WORLD}/maintenance", "maintenance.begin")
def begin_maintenance(request: ControlRequest, body: MaintenanceBody) -> Maintenance:
    """Begin a maintenance of a world, or change how long it lasts.

    Source: assumed 5.3-gateway.
    """
    lasts, now = parse_duration(body.lasts), request.world.now()
    if not lasts:
        raise invalid("lasts: a maintenance lasts longer than that; DELETE ends it")
    if lasts > LATEST - now:
        raise invalid(f"lasts: the clock goes no further than the year {LATEST.year}")
    request.world.put_state(maintenance_until=now + lasts)
    return read_maintenance(request)


@delete(f"{WORLD}/maintenance", "maintenance.end")
def end_maintenance(request: ControlRequest) -> None:
    """End the maintenance of a world. Without one, nothing changes."""
    request.world.put_state(maintenance_until=None)
