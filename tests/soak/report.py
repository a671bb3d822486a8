"""What a soak counts, and what it says of what it found."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

COLUMNS = (
    "rounds",
    "steps",
    "requests",
    "2xx",
    "4xx",
    "scripted",
    "silent",
    "refused",
    "compared",
    "swept",
    "loaded",
    "killed",
    "findings",
)
"""What is counted, by part. `scripted` are faults that were asked for, `silent` are requests whose
connection was closed or which were left waiting; `refused` are snapshots, scenarios and files that
were not taken, `loaded` those that were; `compared` are looks at the world beside, `swept` looks
through all the money."""

SHOWN_MAX = 5
"""Of findings that say the same, no more than so many are printed in full."""


class Found(AssertionError):
    """Something is not as it must be."""


@dataclass(frozen=True)
class Finding:
    """What was found, and where: enough to play it again.

    `kind` is what it has in common with others of its cause.
    """

    seed: int
    part: str
    round: int
    step: int
    kind: str
    what: str
    exchanges: tuple[str, ...] = ()

    @property
    def replay(self) -> str:
        """The command that plays this round again, and no other."""
        where = f"--seed {self.seed} --only {self.part} --from {self.round} --rounds 1"
        return f"python -m tests.soak {where}"

    def __str__(self) -> str:
        lines = [f"FINDING: {self.part}, seed {self.seed}, round {self.round}, step {self.step}"]
        lines += [f"  {line}" for line in self.what.splitlines()]
        lines += [f"  {line}" for one in self.exchanges for line in one.splitlines()]
        return "\n".join([*lines, f"  replay: {self.replay}"])


@dataclass
class Report:
    """The counts of a soak by part, and its findings."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def of(self, part: str) -> Counter[str]:
        """The counts of a part."""
        return self.counts.setdefault(part, Counter())

    def add(self, finding: Finding) -> bool:
        """Keep the finding; whether it is one that is worth being printed."""
        self.findings.append(finding)
        self.of(finding.part)["findings"] += 1
        return self.kinds[finding.part, finding.kind] <= SHOWN_MAX

    @property
    def kinds(self) -> Mapping[tuple[str, str], int]:
        """How often each kind of finding was made in each part."""
        return Counter((one.part, one.kind) for one in self.findings)

    def table(self) -> str:
        """The counts, a line for each part and one for all."""
        total: Counter[str] = sum(self.counts.values(), Counter())
        rows = [("part", *COLUMNS)]
        for part, counts in [*self.counts.items(), ("all", total)]:
            rows.append((part, *(f"{counts[name]:,}" if counts[name] else "-" for name in COLUMNS)))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if number == 0 else cell.rjust(width)
                for number, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        )

    def summary(self) -> str:
        """The kinds of what was found, most frequent first; or that it was nothing."""
        if not self.findings:
            return "nothing was found"
        kinds = sorted(self.kinds.items(), key=lambda one: -one[1])
        lines = [f"  {count} x {part}: {kind}" for (part, kind), count in kinds]
        return "\n".join([f"{len(self.findings)} findings:", *lines])
