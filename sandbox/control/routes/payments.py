"""Rows that choose outcomes: scenarios, queued outcomes, taps, batch results, catalogues."""

from typing import TYPE_CHECKING, Final

from sandbox.control.rows import PREFIX, WORLD, ControlRow
from sandbox.platform.lazy import LazyFunctions, LazyModule

if TYPE_CHECKING:
    from sandbox.control import (
        acting_shapes,
        batch_schedules,
        payments,
        scenario_plays,
        scenarios,
        shapes,
        taps,
    )
else:
    batch_schedules = LazyFunctions("sandbox.control.batch_schedules")
    payments = LazyFunctions("sandbox.control.payments")
    scenario_plays = LazyFunctions("sandbox.control.scenario_plays")
    scenarios = LazyFunctions("sandbox.control.scenarios")
    taps = LazyFunctions("sandbox.control.taps")
    acting_shapes = LazyModule("sandbox.control.acting_shapes")
    shapes = LazyModule("sandbox.control.shapes")


ROWS: Final[tuple[ControlRow, ...]] = (
    ControlRow(
        name="scenarios.list",
        method="GET",
        path=f"{PREFIX}/scenarios",
        summary="List the scenarios of the library",
        run=scenarios.library,
    ),
    ControlRow(
        name="scenarios.read",
        method="GET",
        path=f"{PREFIX}/scenarios/{{name}}",
        summary="Read a scenario of the library",
        run=scenarios.of_library,
    ),
    ControlRow(
        name="scenarios.check",
        method="POST",
        path=f"{PREFIX}/scenarios/check",
        summary="List the mistakes of a scenario",
        run=scenarios.check,
        body=lambda: acting_shapes.CheckBody,
    ),
    ControlRow(
        name="scenario.schema",
        method="GET",
        path=f"{PREFIX}/scenario.schema.json",
        summary="The JSON Schema of scenario files, for editors",
        run=scenarios.schema,
        is_open=True,
    ),
    ControlRow(
        name="scenario.run",
        method="PUT",
        path=f"{WORLD}/scenario",
        summary="Run a scenario in a world",
        run=scenarios.run,
        body=lambda: shapes.ScenarioBody,
    ),
    ControlRow(
        name="scenario.read",
        method="GET",
        path=f"{WORLD}/scenario",
        summary="Read the scenario that runs in a world",
        run=scenarios.read,
    ),
    ControlRow(
        name="scenario.prove",
        method="POST",
        path=f"{WORLD}/scenario/prove",
        summary="Run the examples of a scenario in a sandbox of their own",
        run=scenarios.prove,
        body=lambda: acting_shapes.ProveBody,
    ),
    ControlRow(
        name="scenario.play",
        method="POST",
        path=f"{WORLD}/scenario/play",
        summary="Play an example of the running scenario in its world",
        run=scenario_plays.play,
        body=lambda: acting_shapes.PlayBody,
        refuses=(409,),
    ),
    ControlRow(
        name="scenario.stop",
        method="DELETE",
        path=f"{WORLD}/scenario",
        summary="Stop the scenario of a world",
        run=scenarios.stop,
        status=204,
    ),
    ControlRow(
        name="next.add",
        method="POST",
        path=f"{WORLD}/scenario/next",
        summary="Queue an outcome for the next attempt that matches",
        run=payments.add_next,
        body=lambda: shapes.NextOutcome,
        status=201,
        refuses=(409,),
    ),
    ControlRow(
        name="next.list",
        method="GET",
        path=f"{WORLD}/scenario/next",
        summary="List the queued outcomes",
        run=payments.list_next,
    ),
    ControlRow(
        name="next.delete",
        method="DELETE",
        path=f"{WORLD}/scenario/next/{{id}}",
        summary="Remove a queued outcome",
        run=payments.remove_next,
        status=204,
    ),
    ControlRow(
        name="next.clear",
        method="DELETE",
        path=f"{WORLD}/scenario/next",
        summary="Clear the queued outcomes",
        run=payments.clear_next,
        status=204,
    ),
    ControlRow(
        name="taps.list",
        method="GET",
        path=f"{WORLD}/taps",
        summary="List the payments that wait for a tap",
        run=taps.list_all,
    ),
    ControlRow(
        name="taps.tap",
        method="POST",
        path=f"{WORLD}/taps/{{id}}",
        summary="Tap a card for a waiting payment, choose its outcome, or cancel it",
        run=taps.tap,
        body=lambda: shapes.TapBody,
        refuses=(409,),
    ),
    ControlRow(
        name="batches.answer",
        method="POST",
        path=f"{WORLD}/batches/{{id}}/answer",
        summary="Give a submitted batch its result",
        run=payments.answer_batch,
        body=lambda: shapes.BatchAnswer,
        refuses=(409,),
    ),
    ControlRow(
        name="schedules.list",
        method="GET",
        path=f"{WORLD}/batch-schedules",
        summary="List the terminals whose batches close by themselves",
        run=batch_schedules.list_all,
    ),
    ControlRow(
        name="schedules.set",
        method="PUT",
        path=f"{WORLD}/batch-schedules/{{id}}",
        summary="Close the batches of a terminal at local times",
        run=batch_schedules.set_one,
        body=lambda: shapes.BatchScheduleBody,
    ),
    ControlRow(
        name="schedules.delete",
        method="DELETE",
        path=f"{WORLD}/batch-schedules/{{id}}",
        summary="Let the batches of a terminal close by hand alone",
        run=batch_schedules.remove,
        status=204,
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
)
