"""The errors of the test kit."""

from collections.abc import Mapping
from typing import Any


class SandboxError(Exception):
    """The sandbox cannot do what a test requests; the message gives the reason and the options."""


class SandboxRefused(SandboxError):
    """The control API refused a request.

    `nearest` is the known word closest to a misspelled one; `more` has the answer's other fields.
    """

    def __init__(self, status: int, refusal: Mapping[str, Any], *, about: str = "") -> None:
        self.status = status
        self.error = str(refusal["error"])
        self.message = about + str(refusal["message"])
        self.details = str(refusal.get("details") or "")
        self.nearest: str | None = refusal.get("nearest")
        known = {"error", "message", "details", "nearest"}
        self.more = {name: value for name, value in refusal.items() if name not in known}
        self._refusal = refusal
        meant = f"; did you mean {self.nearest!r}?" if self.nearest else ""
        if "did you mean" in self.message + self.details:
            # Some messages already contain it.
            meant = ""
        details = f" ({self.details})" if self.details else ""
        super().__init__(f"{self.message}{meant}{details}")

    def say_about(self, what: str) -> "SandboxRefused":
        """Return the same refusal, with the name of a file or the like before its message."""
        return SandboxRefused(self.status, self._refusal, about=f"{what}: ")


class NothingCame(AssertionError):
    """The expected webhook or payment did not arrive; the message lists what did."""
