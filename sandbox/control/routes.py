"""The control table: one row per endpoint under `/_sandbox`."""

from typing import Final

from sandbox.control import observe, payments, worlds
from sandbox.control.rows import PREFIX, ControlRow

_WORLD: Final = f"{PREFIX}/worlds/{{w}}"


CONTROL: Final[tuple[ControlRow, ...]] = (
    ControlRow(
        name="health",
        method="GET",
        path=f"{PREFIX}/health",
        summary="That the server answers",
        run=worlds.health,
        is_open=True,
    ),
    ControlRow(
        name="worlds.create",
        method="POST",
        path=f"{PREFIX}/worlds",
        summary="Create a world",
        run=worlds.create,
        body="CreateWorld",
        status=201,
    ),
    ControlRow(
        name="worlds.list",
        method="GET",
        path=f"{PREFIX}/worlds",
        summary="List the worlds",
        run=worlds.list_all,
    ),
    ControlRow(
        name="worlds.read", method="GET", path=_WORLD, summary="Read a world", run=worlds.read
    ),
    ControlRow(
        name="worlds.delete",
        method="DELETE",
        path=_WORLD,
        summary="Delete a world",
        run=worlds.delete,
        status=204,
    ),
    ControlRow(
        name="worlds.reset",
        method="POST",
        path=f"{_WORLD}/reset",
        summary="Bring a world back to its fixture",
        run=worlds.reset,
    ),
    ControlRow(
        name="clock.read",
        method="GET",
        path=f"{_WORLD}/clock",
        summary="Read a world's clock",
        run=worlds.read_clock,
    ),
    ControlRow(
        name="clock.set",
        method="PUT",
        path=f"{_WORLD}/clock",
        summary="Set a world's clock",
        run=worlds.set_clock,
        body="ClockBody",
    ),
    ControlRow(
        name="switches.read",
        method="GET",
        path=f"{_WORLD}/switches",
        summary="Read a world's switches",
        run=worlds.read_switches,
    ),
    ControlRow(
        name="switches.set",
        method="PUT",
        path=f"{_WORLD}/switches",
        summary="Set switches of a world",
        run=worlds.set_switches,
        body="Switches",
    ),
    ControlRow(
        name="next.add",
        method="POST",
        path=f"{_WORLD}/scenario/next",
        summary="Queue an outcome for the next attempt that fits",
        run=payments.add_next,
        body="NextOutcome",
        status=201,
    ),
    ControlRow(
        name="next.list",
        method="GET",
        path=f"{_WORLD}/scenario/next",
        summary="List the outcomes that wait",
        run=payments.list_next,
    ),
    ControlRow(
        name="next.clear",
        method="DELETE",
        path=f"{_WORLD}/scenario/next",
        summary="Forget the outcomes that wait",
        run=payments.clear_next,
        status=204,
    ),
    ControlRow(
        name="batches.answer",
        method="POST",
        path=f"{_WORLD}/batches/{{id}}/answer",
        summary="Give a submitted batch its result",
        run=payments.answer_batch,
        body="BatchAnswer",
    ),
    ControlRow(
        name="outcomes.list",
        method="GET",
        path=f"{PREFIX}/outcomes",
        summary="List the outcomes and transport faults",
        run=payments.list_outcomes,
    ),
    ControlRow(
        name="cards.list",
        method="GET",
        path=f"{PREFIX}/cards",
        summary="List the test cards",
        run=payments.list_cards,
    ),
    ControlRow(
        name="triggers.list",
        method="GET",
        path=f"{PREFIX}/triggers",
        summary="List the amounts that choose an outcome",
        run=payments.list_triggers,
    ),
    ControlRow(
        name="messages.list",
        method="GET",
        path=f"{_WORLD}/messages",
        summary="List a world's messages, newest last",
        run=observe.messages,
        query="MessagesQuery",
    ),
    ControlRow(
        name="messages.read",
        method="GET",
        path=f"{_WORLD}/messages/{{id}}",
        summary="Read a message",
        run=observe.message,
    ),
    ControlRow(
        name="requests.list",
        method="GET",
        path=f"{_WORLD}/requests",
        summary="List a world's journal, newest last",
        run=observe.requests,
        query="RequestsQuery",
    ),
    ControlRow(
        name="requests.clear",
        method="DELETE",
        path=f"{_WORLD}/requests",
        summary="Empty a world's journal",
        run=observe.forget_requests,
        status=204,
    ),
    ControlRow(
        name="requests.read",
        method="GET",
        path=f"{_WORLD}/requests/{{id}}",
        summary="Read a request of the journal",
        run=observe.request,
    ),
)
