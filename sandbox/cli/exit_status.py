"""How a command ends that could not do what it was asked, or that somebody stops."""

import sys
from typing import Final, NoReturn

from sandbox.cli.tables import say

EXIT_REFUSED: Final = 1
"""It was understood, and the answer is no."""

EXIT_UNUSABLE: Final = 2
"""Something that was given cannot be used: an option, a file, a port, a server."""

EXIT_INTERRUPTED: Final = 130
"""Ctrl-C before it was done, as shells have it: 128 and the number of the signal."""


def refuse(message: str, code: int = EXIT_UNUSABLE) -> NoReturn:
    """Say why on stderr, and end with this code."""
    say(f"sandbox: {message}", err=True)
    sys.exit(code)
