"""Control endpoints on messages: what was emitted, how it fared, and sending it again."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import from_json

from sandbox.control.long import written_list
from sandbox.control.rows import Ask, ControlFault, invalid, must_be_known, window
from sandbox.domain.events import EVENTS, Message, body_of
from sandbox.domain.instants import to_wire
from sandbox.domain.payments import pans
from sandbox.domain.webhooks.deliveries import Attempt, Delivery
from sandbox.store.steps import OFTEN, Steps
from sandbox.webhooks.samples import sample
from sandbox.world.ids import Ids
from sandbox.world.world import DEFAULT_WORLD, World

if TYPE_CHECKING:
    from sandbox.control.shapes import MessagesQuery, Resend, Sample, WaitQuery

NEAR_MISSES_MAX: Final = 5


async def list_all(ask: Ask) -> list[bytes]:
    """The messages of a world, newest last."""
    query: MessagesQuery = ask.query
    must_be_known("event_type", query.event_type, EVENTS)
    slices, world = ask.services.worlds.slices, ask.world
    fitting = await slices.run(_fitting(world.store.messages_now(), query))
    page = window(fitting, query.limit, query.offset)
    return await slices.run(
        written_list("messages", page.items, lambda one: view(world, one), page.about())
    )


def _fitting(messages: Sequence[Message], query: "MessagesQuery") -> Steps[Sequence[Message]]:
    """The messages that the query is about, oldest first."""
    if query.event_type is None and query.since is None and query.subject is None:
        return messages
    fitting = []
    for place in range(len(messages)):
        message = messages[place]
        if (
            (query.event_type is None or message.event_type == query.event_type)
            and (query.since is None or message.created_at >= query.since)
            and (query.subject is None or message.subject == query.subject)
        ):
            fitting.append(message)
        if not place % OFTEN:
            yield
    return fitting


def read(ask: Ask) -> dict[str, Any]:
    """One message, with its body and its deliveries."""
    return view(ask.world, _found(ask))


def _found(ask: Ask) -> Message:
    found = ask.world.store.message(ask.params["id"])
    if found is None:
        raise ControlFault(404, "not_found", "the world has no message with this id")
    return found


def view(world: World, message: Message) -> dict[str, Any]:
    """The message as the control API shows it, with its deliveries."""
    deliveries = [_delivery(one) for one in world.outbox.deliveries_of(message.id)]
    return shown(message) | {"deliveries": deliveries}


def shown(message: Message) -> dict[str, Any]:
    """The message without what came of it."""
    return {
        "id": message.id,
        "event_type": message.event_type,
        "account_id": message.account_id,
        "subject": message.subject,
        "request_id": message.request_id,
        "created_at": to_wire(message.created_at),
        "body": from_json(body_of(message)),
    }


def _delivery(delivery: Delivery) -> dict[str, Any]:
    due = delivery.next_attempt_at
    return {
        "endpoint_id": delivery.endpoint_id,
        "status": delivery.status,
        "attempts": [view_attempt(one) for one in delivery.attempts],
        "next_attempt_at": None if due is None else to_wire(due),
    }


def view_attempt(attempt: Attempt) -> dict[str, Any]:
    """One attempt at a delivery."""
    return {
        "at": to_wire(attempt.at),
        "status_code": attempt.status_code,
        "duration_ms": round(attempt.duration_ms, 3),
        "response": attempt.response,
        "error": attempt.error,
        "trigger": attempt.trigger,
    }


# --- sending ----------------------------------------------------------------------------------


def send_sample(ask: Ask) -> dict[str, Any]:
    """A sample of an event, sent for real to the endpoints that want it."""
    body: Sample = ask.body
    must_be_known("event_type", body.event_type, EVENTS)
    if ask.services.worlds.profile.key_format.mentions_production(str(body.changes)):
        raise invalid("changes: a production key must never be sent to a sandbox")
    if pans.mentions(str(body.changes)):
        raise invalid("changes: a card number stands where none belongs")
    world = ask.world
    message = sample(
        body.event_type,
        ask.services.samples(body.event_type),
        body.changes,
        ids=_ids_of(world),
        id=world.draws.message_id(),
        now=world.clock.now(),
    )
    unit = world.store.begin()
    unit.emit(message)
    unit.commit()
    return view(world, message)


def _ids_of(world: World) -> dict[str, str]:
    """For the ids of the demo world, in which samples were written, those of this one."""
    written = Ids(seed=1, world_id=DEFAULT_WORLD)
    kinds = {
        "account": world.cast.accounts,
        "terminal": world.cast.terminals,
        "location": world.cast.locations,
    }
    return {
        written.named_uuid(f"{kind}:{name}"): id
        for kind, cast in kinds.items()
        for name, id in cast.items()
    }


def resend(ask: Ask) -> dict[str, Any]:
    """One more attempt at a message. Source: assumed D22."""
    body: Resend = ask.body
    message, outbox = _found(ask), ask.world.outbox
    if body.endpoint_id is None:
        endpoints = list(outbox.wanting(message))
    else:
        endpoint = outbox.endpoints.get(body.endpoint_id)
        if endpoint is None:
            raise ControlFault(404, "not_found", "the world has no endpoint with this id")
        if endpoint.is_disabled:
            raise ControlFault(
                409,
                "endpoint_disabled",
                f"the endpoint is disabled: {endpoint.disabled_reason}",
            )
        endpoints = [endpoint]
    for endpoint in endpoints:
        outbox.resend(message, endpoint)
    return {"endpoints": [endpoint.id for endpoint in endpoints]}


# --- waiting ----------------------------------------------------------------------------------


async def wait(ask: Ask) -> dict[str, Any]:
    """The first message that fits, as soon as it is there. 408 with near misses if none comes."""
    query: WaitQuery = ask.query
    must_be_known("event_type", query.event_type, EVENTS)
    world = ask.world
    if query.after is not None and world.store.message(query.after) is None:
        raise ControlFault(404, "not_found", "after: the world has no message with this id")
    loop = asyncio.get_running_loop()
    deadline = loop.time() + query.timeout_s
    while True:
        for message in _later(world, query.after):
            if _misfit(world, message, query) is None:
                return view(world, message)
        try:
            async with asyncio.timeout_at(deadline):
                await world.changed()
        except TimeoutError:
            raise _nothing_came(world, query) from None


def _later(world: World, after: str | None) -> Iterator[Message]:
    messages = iter(world.store.messages())
    if after is not None:
        for message in messages:
            if message.id == after:
                break
    return messages


def _misfit(world: World, message: Message, query: "WaitQuery") -> str | None:
    """Why this is not the message that is waited for; None when it is."""
    if query.event_type is not None and message.event_type != query.event_type:
        return f"it is {message.event_type}"
    if query.subject is not None and message.subject != query.subject:
        return f"it is about {message.subject}"
    if query.status is not None:
        status = from_json(body_of(message)).get("status")
        if status != query.status:
            return f"its status is {status}"
    if query.delivered:
        deliveries = world.outbox.deliveries_of(message.id)
        if not deliveries:
            return "it is for no endpoint"
        if all(one.status != "delivered" for one in deliveries):
            return "its deliveries are " + ", ".join(one.status for one in deliveries)
    return None


def _nothing_came(world: World, query: "WaitQuery") -> ControlFault:
    """The messages that come nearest: of the event, or about the subject, newest first."""
    near: list[dict[str, Any]] = []
    for message in reversed(list(_later(world, query.after))):
        is_near = query.event_type in (None, message.event_type) or (
            query.subject == message.subject
        )
        if is_near and len(near) < NEAR_MISSES_MAX:
            near.append(
                {
                    "id": message.id,
                    "event_type": message.event_type,
                    "subject": message.subject,
                    "why": _misfit(world, message, query),
                }
            )
    return ControlFault(
        408,
        "nothing_came",
        f"no such message within {query.timeout_s:g} s",
        details="" if near else "nothing like it was emitted",
        more={"near_misses": near},
    )
