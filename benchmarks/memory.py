"""What 200,000 transactions of one world hold in memory, with all that is kept of them.

The process is the one that measures `payments`, and is measured as a whole: interpreter, packages,
the records with their histories, the messages of everything that happened, and the journal.
"""

from typing import Final

from benchmarks.payments import FEW, MANY, measured
from benchmarks.report import Plan, Result, Target

_MB: Final = 1e6
_TARGET: Final = Target(bound=600, of="figure")


def run(plan: Plan) -> list[Result]:
    """Once as they were taken, and once when they have been searched in every way of `payments`."""
    found = measured(plan.rounds)
    each = (found.filled_bytes - found.empty_bytes) / MANY
    searched = (found.asked_bytes - found.filled_bytes) / MANY
    return [
        Result(
            name=f"memory of {MANY:,} transactions",
            unit="MB",
            figure=found.filled_bytes / _MB,
            target=_TARGET,
            notes=(
                f"{found.empty_bytes / _MB:.0f} MB before the first, {each:,.0f} bytes for each",
                f"taken in {found.fill_s:.0f} s of processor time",
            ),
        ),
        Result(
            name=f"memory of {MANY:,} transactions, searched",
            unit="MB",
            figure=found.asked_bytes / _MB,
            target=_TARGET,
            notes=(
                f"indexes and remembered answers are {searched:,.0f} bytes for each, "
                f"{FEW:,} more transactions in a second world among them",
            ),
        ),
    ]
