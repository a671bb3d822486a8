"""The sandbox beside what people use instead: each in its own simple case, against one yardstick.

The figures of the others were measured once, as `docs/performance.md` says; those of the sandbox
are those of this run.
"""

from collections.abc import Sequence
from typing import Final

from benchmarks.report import Result

_PEERS: Final = (
    ("stripe-mock (Go, stateless, two cores)", 1.06, 0.92),
    ("MockServer", 0.39, 0.44),
    ("WireMock, without its journal", 0.38, 0.51),
    ("WireMock, with its journal", 0.27, 0.51),
    ("mountebank", 0.25, 0.09),
    ("Prism", 0.23, 0.17),
    ("Mockoon", 0.17, 0.11),
    ("moto", 0.035, 0.02),
    ("localstripe", 0.006, 0.09),
)
"""Each with the ratio of a POST that creates and of a GET that reads, in requests per second."""


def beside(results: Sequence[Result]) -> str:
    """A table of all, best first; nothing unless this run has measured both figures."""
    ratios = {one.name: one.ratio for one in results}
    sale, read = ratios.get("a sale"), ratios.get("read a key")
    if sale is None or read is None:
        return ""
    ours = ("this sandbox, with webhooks, journal and coverage", sale, read)
    rows = sorted((ours, *_PEERS), key=lambda row: -row[1])
    width = max(len(name) for name, _, _ in rows)
    lines = [f"  {name:{width}}  {post:5.2f}  {get:5.2f}" for name, post, get in rows]
    head = f"  {'against the bare application = 1':{width}}   POST    GET"
    return "\n".join(["", head, *lines])
