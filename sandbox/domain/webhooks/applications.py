"""The webhook application of an account: what its endpoints belong to in the delivery provider.

Source: spec 4.4-paths-provisioning; assumed 8.3-application.
"""

from datetime import datetime
from hashlib import blake2b
from typing import Final

from msgspec import Struct

_ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ID_CHARS: Final = 27


class Application(Struct, frozen=True, kw_only=True, gc=False):
    """One application. An account has one at most, so its account finds it."""

    account_id: str
    created_at: datetime

    @property
    def id(self) -> str:
        """`app_` and 27 characters, which follow from the account's id."""
        return application_id(self.account_id)


def application_id(account_id: str) -> str:
    """The id of the account's application. It takes no draw, so ids of later records stay."""
    digest = blake2b(account_id.encode(), digest_size=_ID_CHARS, person=b"application").digest()
    return "app_" + "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest)
