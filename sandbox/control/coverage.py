"""Coverage: the parts of the platform that were used, and those that were not.

Every section covers a table of the sandbox, with a count for each of its rows.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from sandbox import library
from sandbox.control.context import ControlRequest
from sandbox.control.models import View
from sandbox.control.routing import PREFIX, WORLD, get
from sandbox.control.servers import ask_other_servers
from sandbox.domain.events import EVENTS
from sandbox.domain.faults import FAULTS, MISDIRECTED
from sandbox.domain.payments.outcomes import OUTCOMES
from sandbox.domain.payments.transactions import STATUS_REASONS, STATUSES
from sandbox.domain.transport_faults import TRANSPORT_FAULTS
from sandbox.platform.routes import OPERATIONS
from sandbox.worlds.coverage_counters import CoverageCounters
from sandbox.worlds.spec import OPERATOR

_SERVED: Final = tuple(row.name for row in OPERATIONS if row.run is not None)

TABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "operations": _SERVED,
    "statuses": STATUSES,
    "status_reasons": STATUS_REASONS,
    "events": tuple(EVENTS),
    # Faults that a client cannot tell apart share one code. A request for another host is not
    # counted at all.
    "refusals": tuple(dict.fromkeys(fault.code for fault in FAULTS if fault is not MISDIRECTED)),
    "outcomes": (*OUTCOMES, *TRANSPORT_FAULTS),
}
"""Everything that can be used, by section."""


class Section(View):
    """The entries of a table that were used, with their counts, and the unused ones."""

    exercised: dict[str, int]
    never: list[str]


class Coverage(View):
    """The parts of the platform that were used."""

    operations: Section
    answers: Section
    statuses: Section
    status_reasons: Section
    events: Section
    refusals: Section
    scenarios: Section
    outcomes: Section


@get(f"{WORLD}/coverage", "coverage.read")
def read_coverage(request: ControlRequest) -> Coverage:
    """Read the coverage of the platform in a world."""
    return view_coverage(request, request.world.coverage)


@get(f"{PREFIX}/coverage", "coverage.total")
async def read_total_coverage(request: ControlRequest) -> Coverage:
    """Read the coverage of the platform in all worlds.

    A team only sees its own worlds.
    """
    worlds, who = request.services.worlds, request.who
    own = None if who.team == OPERATOR else who.worlds(worlds)
    shown = view_coverage(request, worlds.exercised(own))
    every, names = [shown, *await ask_other_servers(request, Coverage)], Coverage.model_fields
    return Coverage(**{name: _add([getattr(one, name) for one in every]) for name in names})


def _add(sections: list[Section]) -> Section:
    """Return the sum of a section over several servers."""
    counts: Counter[str] = Counter()
    for section in sections:
        counts.update(section.exercised)
    names = dict.fromkeys(name for one in sections for name in (*one.exercised, *one.never))
    return _section(counts, names)


def view_coverage(request: ControlRequest, coverage: CoverageCounters) -> Coverage:
    """Return the counts as the control API shows them."""
    names = {one.name: name for name, one in library.scenarios().items()}
    scrub = request.services.worlds.profile.scrub
    scenarios = Counter[str]()
    for title, count in coverage.scenarios.items():
        scenarios[names.get(title) or scrub(title)] += count
    counts = coverage.sections | {"scenarios": scenarios}
    own = sorted(scenarios.keys() - names.values())
    place = {name: number for number, name in enumerate(_SERVED)}
    answers = sorted(counts["answers"], key=lambda one: (place[one.split()[0]], one))
    tables = {**TABLES, "scenarios": (*names.values(), *own), "answers": answers}
    return Coverage(**{name: _section(counts[name], table) for name, table in tables.items()})


def _section(counts: Counter[str], table: Iterable[str]) -> Section:
    return Section(
        exercised={name: counts[name] for name in table if counts[name]},
        never=[name for name in table if not counts[name]],
    )
