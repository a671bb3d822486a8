"""How many examples a property is tried with, and where its random numbers come from.

`make test` tries a third of what `make properties` does, and of the long products of cases each
case in turn. Both have the same examples in every run, so a test that fails here fails everywhere;
`make soak` has others in each round.
"""

import os
from typing import Final

IS_THOROUGH: Final = bool(os.environ.get("TESTED_THOROUGHLY"))

SEED: Final = os.environ.get("SANDBOX_SEED")
"""The seed of a round of `make soak`; None for the same examples in every run."""


def examples(number: int) -> int:
    """So many examples; a third of them where there is no time for all."""
    return number if IS_THOROUGH else number // 3
