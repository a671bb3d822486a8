"""The memory of 200,000 transactions of one world, with all related data.

The process is the one that measures `payments`, and is measured as a whole: interpreter, packages,
the records with their histories, the messages of everything that happened, and the journal.
"""

from typing import Final

from benchmarks.payments import FEW, MANY, measured
from benchmarks.report import Plan, Result, Target

_MB: Final = 1e6
_BYTES_EACH: Final = 1_800
"""What one payment may take, with all that belongs to it."""


def run(plan: Plan) -> list[Result]:
    """Their memory right after they were made; the notes have the part that searching adds."""
    found = measured(plan.rounds)
    each = (found.filled_bytes - found.few_bytes) / MANY
    searched = (found.queried_bytes - found.filled_bytes) / MANY
    return [
        Result(
            name=f"memory of {MANY:,} transactions",
            unit="MB",
            figure=found.filled_bytes / _MB,
            target=Target(bound=(found.few_bytes + MANY * _BYTES_EACH) / _MB, of="figure"),
            notes=(
                f"{each:,.0f} bytes for each",
                f"before them {found.few_bytes / _MB:.0f} MB, with {FEW:,} in another world",
                f"searched in every way of `payments` {found.queried_bytes / _MB:.0f} MB, "
                f"as indexes and remembered answers are {searched:,.0f} bytes for each",
                f"taken in {found.fill_s:.0f} s of processor time",
            ),
        )
    ]
