"""Running probes against a platform, slowly, and stopping when it seems to be in trouble."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from sandbox.conformance.created_resources import Register
from sandbox.conformance.probes.steps import Missing, ProbeRequest, Step, fill
from sandbox.conformance.probes.table import Probe

REQUESTS_MAX: Final = 300
FOR_CLEANING: Final = 100
"""So many of them are kept for the deletion of what the run made."""

INTERVAL_S: Final = 0.5
RETRY_AFTER_S_MAX: Final = 120.0
"""A platform that asks for a longer wait ends the run."""

TOO_MANY_MAX: Final = 2
TROUBLE_MAX: Final = 3
"""So many answers 429 to one request, and so many failures in all, end the run."""

REFUSED_MAX: Final = 3
"""So many refusals end the run, if the key was never let in before."""

TOO_MANY: Final = 429
_REFUSED: Final = (401, 403)


class Stopped(Exception):
    """The run ended early; the message says why."""


@dataclass(frozen=True, slots=True)
class Raw:
    """An answer as it came: status, headers by lower-case name, body as text."""

    status: int
    headers: Mapping[str, str]
    text: str


class Sends(Protocol):
    """What sends requests. Raises OSError without an answer."""

    def __call__(self, request: ProbeRequest, /) -> Raw: ...


@dataclass(slots=True)
class Pace:
    """Keeps requests apart. `now` gives seconds of a clock, `sleep` waits for seconds."""

    now: Callable[[], float]
    sleep: Callable[[float], None]
    sent: int = 0
    _next_s: float = float("-inf")

    def wait(self, *, cleaning: bool = False) -> None:
        """Wait until the next request may be sent. Raises Stopped after the last one."""
        allowed = REQUESTS_MAX if cleaning else REQUESTS_MAX - FOR_CLEANING
        if self.sent >= allowed:
            raise Stopped(f"{allowed} requests were sent, and no more are allowed")
        if (left := self._next_s - self.now()) > 0:
            self.sleep(left)
        self.sent += 1
        self._next_s = self.now() + INTERVAL_S

    def hold(self, seconds: float) -> None:
        """Send nothing for so long."""
        self._next_s = max(self._next_s, self.now() + seconds)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a probe found: the value, or None if it cannot tell; `why` then gives the reason."""

    probe: Probe
    value: Any
    why: str = ""


@dataclass(slots=True)
class Run:
    """A run so far: its findings, its evidence, and why it stopped early, if it did."""

    findings: list[Finding] = field(default_factory=list)
    evidence: list[dict[str, Any]] = field(default_factory=list)
    stopped: str | None = None
    asking: Probe | None = None
    """The probe that is being asked; its answer may be cut off."""


@dataclass(slots=True)
class Asker:
    """Asks one request at a time, and says when the platform is better left alone.

    `names` fill the holes of steps; `own` is the record of the key that asks.
    """

    send: Sends
    pace: Pace
    register: Register
    names: dict[str, Any] = field(default_factory=dict)
    own: Any = None
    trouble: int = 0
    refused: int = 0
    is_let_in: bool = False

    def run(self, probes: Sequence[Probe], *, refusal_ends: bool, done: Run) -> None:
        """Run the probes of a phase. Raises Stopped and OSError of the register."""
        for probe in probes:
            done.asking = probe
            done.findings.append(self._find(probe, refusal_ends=refusal_ends, done=done))
        done.asking = None

    def _find(self, probe: Probe, *, refusal_ends: bool, done: Run) -> Finding:
        answers = []
        for step in probe.requests:
            try:
                answers.append(self._step(step, probe.id, refusal_ends=refusal_ends, done=done))
            except Missing as missing:
                if step.method == "DELETE":
                    # It was not made.
                    continue
                return Finding(probe, None, f"{missing} is not there")
        value = probe.told(answers, self.own)
        told = ", ".join(str(one["status"] or "none") for one in answers)
        return Finding(probe, value, "" if value is not None else f"answers: {told}")

    def _step(self, step: Step, probe: str, *, refusal_ends: bool, done: Run) -> dict[str, Any]:
        """The answer to a step. What it makes is noted before it is sent."""
        number = len(self.register.entries) + 1
        names = {**self.names, "name": f"verify-{self.register.run}-{number}"}
        request = fill(step, names)
        if step.makes is None:
            answer = self.answer(request, probe, refusal_ends=refusal_ends, done=done)
            if step.method == "DELETE" and 200 <= answer["status"] < 300 and answer["is_json"]:
                self._deleted(request.path)
            return answer
        account = (request.body or {}).get("account_id")
        by = "partner" if step.key else "own"
        entry = self.register.intend(step.makes, names["name"], account, by)
        answer = self.answer(request, probe, refusal_ends=refusal_ends, done=done)
        made = answer["body"] if isinstance(answer["body"], dict) else {}
        id = made.get(step.makes.id_field)
        if 200 <= answer["status"] < 300 and isinstance(id, str | int):
            self.register.made(entry, str(id))
            self.names.setdefault("made", {})[step.name_of_made] = {**made, "id": str(id)}
        elif 400 <= answer["status"] < 500 and answer["is_json"]:
            self.register.gone(entry)
        return answer

    def _deleted(self, path: str) -> None:
        entry = self.register.with_id(path.rpartition("/")[2])
        if entry is not None:
            self.register.gone(entry)

    def answer(
        self, request: ProbeRequest, probe: str, *, refusal_ends: bool, done: Run
    ) -> dict[str, Any]:
        """The answer to a request. Raises Stopped."""
        for _ in range(TOO_MANY_MAX):
            self.pace.wait()
            raw, why = ask_once(self.send, request)
            shown = shown_answer(raw)
            done.evidence.append(
                {"probe": probe, "method": request.method, "path": request.path}
                | {"query": dict(request.query), "status": raw.status, "body": shown["body"]}
            )
            if raw.status != TOO_MANY:
                own = request.key is None
                self._note(raw.status, why, refusal_ends=refusal_ends and own)
                return shown
            self.pace.hold(retry_after(raw.headers.get("retry-after")))
        raise Stopped(f"the platform answered 429 {TOO_MANY_MAX} times to {request.path}")

    def _note(self, status: int, why: str, *, refusal_ends: bool) -> None:
        if status == 0 or status >= 500:
            self.trouble += 1
            if self.trouble >= TROUBLE_MAX:
                raise Stopped(f"the platform failed {TROUBLE_MAX} times, the last time with {why}")
        if not refusal_ends or self.is_let_in:
            return
        # One operation may be refused to a key that is good for others.
        self.is_let_in = 0 < status < 500 and status not in _REFUSED
        self.refused += status in _REFUSED
        if self.refused >= REFUSED_MAX:
            raise Stopped(f"the platform does not let the key in ({why})")


def is_of_the_platform(raw: Raw) -> bool:
    """Whether the body is JSON or empty. A page comes from something before the platform."""
    return bool(shown_answer(raw)["is_json"])


def ask_once(send: Sends, request: ProbeRequest) -> tuple[Raw, str]:
    """The answer, with status 0 if there is none, and what happened in words."""
    try:
        raw = send(request)
    except OSError as error:
        return Raw(0, {}, ""), f"no answer: {error or type(error).__name__}"
    return raw, f"status {raw.status}"


def retry_after(text: str | None) -> float:
    """The seconds to wait. Raises Stopped if they are too many."""
    try:
        seconds = float(text or 1)
    except ValueError:
        seconds = RETRY_AFTER_S_MAX
    if not 0 <= seconds <= RETRY_AFTER_S_MAX:
        raise Stopped(f"the platform asks to wait for {text} seconds")
    return max(seconds, INTERVAL_S)


def shown_answer(raw: Raw) -> dict[str, Any]:
    """The answer as conditions see it; a body that is no JSON is None.

    `is_json` says whether it is JSON or empty.
    """
    try:
        body = json.loads(raw.text)
    except (ValueError, RecursionError):
        body = None
    is_json = body is not None or not raw.text.strip()
    return {"status": raw.status, "headers": dict(raw.headers), "body": body, "is_json": is_json}
