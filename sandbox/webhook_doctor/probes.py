"""The probes in the order in which they are sent. Their weights add up to 100."""

from collections.abc import Mapping
from typing import Final

from sandbox.webhook_doctor.forgeries import FORGERIES
from sandbox.webhook_doctor.genuine import GENUINE, GET, GOOD, QUICK
from sandbox.webhook_doctor.probe import Probe

PROBES: Final[Mapping[str, Probe]] = {
    probe.name: probe for probe in (GOOD, *FORGERIES, *GENUINE, QUICK, GET)
}
"""By name. Reports, `--list`, the documentation and the tests read them."""
