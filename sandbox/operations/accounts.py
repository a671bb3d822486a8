"""Operations on accounts. Source: spec 4.4-paths; details assumed 1.3."""

from typing import cast

from sandbox.domain.accounts import Account
from sandbox.operations.call import Call


def read(call: Call) -> Account:
    """One account, as it is kept. Source: spec 4.4-paths (the example read)."""
    return cast(Account, call.record)
