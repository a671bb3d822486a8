"""Merchant credentials: their record, and how they are shown. Source: spec 2.9.

A credential's PIN is never shown and authenticates nothing here, so it is not stored at all
(assumed Q8, 4.7-credential).
"""

from dataclasses import dataclass
from typing import Final, TypedDict

from sandbox.domain.field_types import CredentialCode, Flag
from sandbox.domain.instants import Instant, to_wire

PIN_CHARS: Final = 6
"""Its length. Source: assumed 1.6-create."""

MASKED_PIN: Final = "****"
"""The mask of every PIN, in every answer and event. Source: spec 2.9-pin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """A merchant credential as stored."""

    id: str
    account_id: str
    code: CredentialCode
    is_active: Flag = True
    created_at: Instant
    deleted_at: Instant | None = None


class CredentialView(TypedDict):
    """A merchant credential as it is shown. Source: spec 2.9."""

    id: str
    account_id: str
    code: str
    pin: str
    is_active: bool
    created_at: str


def view(credential: Credential) -> CredentialView:
    """The credential as the API and its events show it."""
    return {
        "id": credential.id,
        "account_id": credential.account_id,
        "code": credential.code,
        "pin": MASKED_PIN,
        "is_active": credential.is_active,
        "created_at": to_wire(credential.created_at),
    }
