"""How many examples a property is tried with: all by `make whole`, a third by `make test`."""

import os

IS_THOROUGH = bool(os.environ.get("SANDBOX_THOROUGH"))


def examples(number: int) -> int:
    """So many examples; a third of them where there is no time for all."""
    return number if IS_THOROUGH else number // 3
