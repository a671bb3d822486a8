"""The probe: its webhooks, the answer of a good receiver, and the advice for another.

This file has the advice for all probes; their rows are in `probes`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from sandbox.doctor.builder import ProbeBuilder, Webhook
from sandbox.doctor.scale import Severity, Way

CRITICAL, MUST, SHOULD, ADVICE = Severity
Plan = Callable[[ProbeBuilder], list[Webhook]]
"""Makes the webhooks of a probe when they are due."""

TAKEN, REFUSED, BROKE = Way.TAKEN, Way.REFUSED, Way.BROKE


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One probe. `expects` is the right answer of the receiver to each of its requests.

    `severity` belongs to the failure that the probe looks for: a genuine webhook refused, or a
    forged one accepted. `otherwise` belongs to a forged one that is refused in a wrong way.
    `advice` tells what to change, by the way of answering; `ADVICE_TAKEN` and `ADVICE_REFUSED` have
    the rest. `is_at_once`: its webhooks are sent together,
    not one after the other.
    """

    name: str
    sends: str
    wants: str = "takes it with 2xx"
    expects: Literal["taken", "refused"] = "taken"
    severity: Severity = MUST
    otherwise: Severity = SHOULD
    weight: int
    source: str
    advice: Mapping[Way, str]
    plan: Plan
    is_at_once: bool = False

    def is_met_by(self, way: Way) -> bool:
        """Whether this is how a good receiver answers."""
        if self.expects == "taken":
            return way == TAKEN
        return way in (REFUSED, Way.GONE)

    def severity_of(self, way: Way) -> Severity:
        """How bad it is to answer like this."""
        if self.expects == "taken" or way == TAKEN:
            return self.severity
        return self.otherwise

    def advice_on(self, way: Way) -> str:
        """The advice for a receiver that answers like this."""
        general = ADVICE_TAKEN if self.expects == "taken" else ADVICE_REFUSED
        return self.advice.get(way) or general[way]


_NO_ANSWER: Final = {
    Way.SILENT: (
        "Answer first and work later: put the webhook into a queue or a table, answer 204, and do "
        "the rest in the background. After 15 seconds a delivery counts as failed."
    ),
    Way.CLOSED: (
        "Look into the receiver's log: it closes the connection before its answer is complete, as "
        "a crashed worker does, or a proxy whose upstream is away."
    ),
    Way.NOT_HTTP: (
        "What listens there does not speak HTTP/1.1. Check the port, and whether it is https."
    ),
    Way.UNREACHABLE: (
        "It stopped taking connections in between. Look whether the receiver crashed, or a "
        "firewall shut you out."
    ),
}

ADVICE_TAKEN: Final[Mapping[Way, str]] = {
    **_NO_ANSWER,
    Way.REDIRECTED: (
        "Register the address to which it redirects, with its scheme and trailing slash, and keep "
        "log-in pages away from it: redirects are not followed, and count as failures."
    ),
    Way.GONE: "Never answer 410 to a genuine webhook: it disables the endpoint at once.",
    REFUSED: (
        "Answer 2xx to whatever is signed properly, also to what you have no use for. What is "
        "refused is tried again for more than a day, and then the endpoint is disabled."
    ),
    BROKE: (
        "Find the exception in the receiver's log. Store what was verified before you interpret "
        "it, so unexpected content does not cause endless retries."
    ),
    Way.SLOW: (
        "Answer first and work later: put the webhook into a queue or a table, answer 204, and do "
        "the rest in the background."
    ),
}

_REFUSE: Final = "Answer 4xx, best 401, and nothing else"

ADVICE_REFUSED: Final[Mapping[Way, str]] = {
    **_NO_ANSWER,
    TAKEN: "Verify with a Standard Webhooks library, and process nothing before it has agreed.",
    Way.REDIRECTED: f"{_REFUSE}: senders are not people who would log in.",
    BROKE: (
        f"{_REFUSE}: catch what the verifying library raises, ValueError for malformed headers "
        "included. With 5xx, forgeries set off the alarms that are meant for your own errors."
    ),
    Way.SILENT: (
        "Verify before anything that takes time, and answer 401 at once: otherwise anyone "
        "can keep the receiver busy."
    ),
    Way.CLOSED: f"{_REFUSE}: a closed connection looks like a crash, and may be one.",
}

HINTS: Final[Mapping[int, str]] = {
    404: "404: there is nothing at this path; compare it with the receiver's routes.",
    405: "405: the route does not take POST.",
    413: "413: the body is larger than the receiver, or a proxy before it, allows.",
    415: "415: the route does not take `content-type: application/json`.",
    429: "429: a rate limit; take the senders' addresses out of it, or answer with Retry-After.",
}
"""The advice by status for a genuine webhook that was refused."""
