"""Operations on transactions: so far the reserved edit. Source: spec 4.3-search-edit."""

from sandbox.domain.faults import NOT_FOUND, Refusal
from sandbox.operations.call import Call


def edit(call: Call) -> None:
    """Edit a passthrough transaction. No world has a transaction yet, so that none is found.

    Raises Refusal: a missing transaction is 404 (spec 7-404).
    """
    raise Refusal(NOT_FOUND, reason="no world has transactions yet: payments are not built")
