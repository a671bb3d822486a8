"""The JSON of a refusal. Source: spec 7-body; elsewhere assumed 0.5-errors."""

from typing import Final

from pydantic_core import to_json

from sandbox.domain.faults import Refusal
from sandbox.domain.profile import Profile

DETAILS_CHARS_MAX: Final = 4_096
"""Length limit of an error message, so a client does not get back a book that it sent."""


def error_body(refusal: Refusal, profile: Profile, *, is_for_keys: bool) -> bytes:
    """The body: three strings on API-key endpoints, the profile's shape everywhere else.

    What looks like a key or a card number is masked: nothing secret is ever sent back.
    """
    fault, details = refusal.fault, profile.scrub_start(refusal.details, DETAILS_CHARS_MAX)
    if is_for_keys or profile.errors.shape == "error_message_details":
        return to_json({"error": fault.code, "message": fault.message, "details": details})
    if refusal.mistakes:
        return _listed(refusal, profile)
    text = f"{fault.message} {details}".rstrip()
    if profile.errors.shape == "detail":
        return to_json({"detail": text})
    return to_json({"detail": text, "error": fault.code})


def _listed(refusal: Refusal, profile: Profile) -> bytes:
    """The mistakes of a malformed request, one by one. Source: assumed D35-detail."""

    def masked(part: str | int) -> str | int:
        return profile.scrub_start(part, DETAILS_CHARS_MAX) if isinstance(part, str) else part

    found = [
        {
            "type": one["type"],
            "loc": [masked(part) for part in one["loc"]],
            "msg": masked(one["msg"]),
        }
        for one in refusal.mistakes
    ]
    if profile.errors.shape == "detail":
        return to_json({"detail": found})
    return to_json({"detail": found, "error": refusal.fault.code})
