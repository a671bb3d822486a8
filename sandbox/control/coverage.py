"""Control endpoints of coverage: the parts of the platform that were used, and those that were not.

Every section covers a table of the sandbox, and has a count for each of its rows.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, TypedDict

from sandbox.control.gathering import added, others_of, said_elsewhere
from sandbox.control.rows import ControlRequest
from sandbox.domain.events import EVENTS
from sandbox.domain.faults import FAULTS, MISDIRECTED
from sandbox.domain.payments.outcomes import OUTCOMES, TRANSPORT_FAULTS
from sandbox.domain.payments.transactions import STATUS_REASONS, STATUSES
from sandbox.domain.teams import OPERATOR
from sandbox.platform.routes import OPERATIONS
from sandbox.worlds.coverage_counters import AnswerKind, CoverageCounters

_SERVED: Final = tuple(row.name for row in OPERATIONS if row.run is not None)

TABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "operations": _SERVED,
    "statuses": STATUSES,
    "status_reasons": STATUS_REASONS,
    "events": tuple(EVENTS),
    # Faults that a client cannot tell apart share one code. A request for another host reaches
    # nothing that counts.
    "refusals": tuple(dict.fromkeys(fault.code for fault in FAULTS if fault is not MISDIRECTED)),
    "outcomes": (*OUTCOMES, *TRANSPORT_FAULTS),
}
"""Everything that can be used, section by section."""


class Section(TypedDict):
    """The entries of a table that were used, and how often; and the unused ones."""

    exercised: dict[str, int]
    never: list[str]


class Coverage(TypedDict):
    """The parts of the platform that were used."""

    operations: Section
    answers: Section
    statuses: Section
    status_reasons: Section
    events: Section
    refusals: Section
    scenarios: Section
    outcomes: Section


async def of_world(request: ControlRequest) -> Coverage:
    """The coverage of a world since it was created or reset."""
    slices = request.services.worlds.slices
    await slices.run(request.world.coverage.count())
    # The first time they are read from their files.
    await slices.aside(request.services.scenarios)
    return view_of(request, request.world.coverage.look())


async def of_server(request: ControlRequest) -> Coverage:
    """The coverage of all worlds since the server started, and of requests for no world.

    A team sees that of its own worlds which are there.
    """
    worlds, who = request.services.worlds, request.who
    await worlds.slices.aside(request.services.scenarios)
    own = None if who.team == OPERATOR else who.worlds(worlds)
    shown = view_of(request, await worlds.slices.run(worlds.exercised(own)))
    if (others := others_of(request)) is not None:
        all_said = [shown, *(await said_elsewhere(request, others))]
        for section in Coverage.__annotations__:
            shown[section] = added(said[section] for said in all_said)  # type: ignore[literal-required]
    return shown


def view_of(request: ControlRequest, coverage: CoverageCounters) -> Coverage:
    """The counts as the control API shows them."""
    counts = _counts(coverage)
    library = {one.name: name for name, one in request.services.scenarios().items()}
    scrub = request.services.worlds.profile.scrub
    for title, count in coverage.scenarios.items():
        counts["scenarios"][library.get(title) or scrub(title)] += count
    own = sorted(counts["scenarios"].keys() - library.values())
    place = {name: number for number, name in enumerate(_SERVED)}
    answers = sorted(counts["answers"], key=lambda one: (place[one.split()[0]], one))
    tables = {**TABLES, "scenarios": (*library.values(), *own), "answers": answers}
    sections = {name: _section(counts[name], table) for name, table in tables.items()}
    return Coverage(
        operations=sections["operations"],
        answers=sections["answers"],
        statuses=sections["statuses"],
        status_reasons=sections["status_reasons"],
        events=sections["events"],
        refusals=sections["refusals"],
        scenarios=sections["scenarios"],
        outcomes=sections["outcomes"],
    )


def _section(counts: Counter[str], table: Iterable[str]) -> Section:
    return {
        "exercised": {name: counts[name] for name in table if counts[name]},
        "never": [name for name in table if not counts[name]],
    }


def _counts(coverage: CoverageCounters) -> dict[str, Counter[str]]:
    """How often each name of each section was counted."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in Coverage.__annotations__}
    for answer, count in coverage.answers.items():
        answered = AnswerKind(*answer)
        if answered.route is not None:
            counts["operations"][answered.route] += count
            counts["answers"][f"{answered.route} {answered.status}"] += count
        for section, name in (
            ("refusals", answered.refusal),
            ("outcomes", answered.outcome),
            ("outcomes", answered.fault),
        ):
            if name is not None:
                counts[section][name] += count
    for kind, count in coverage.messages.items():
        counts["events"][kind.event_type] += count
        if kind.status is not None and kind.status_reason is not None:
            counts["statuses"][kind.status] += count
            counts["status_reasons"][kind.status_reason] += count
    counts["statuses"]["settled"] += coverage.settled
    return counts
