"""Exit statuses of commands, and the function that ends a command with a message."""

import sys
from typing import Final, NoReturn

EXIT_REFUSED: Final = 1
"""The request was understood but refused."""

EXIT_UNUSABLE: Final = 2
"""An input cannot be used: an option, a file, a port, a server."""

EXIT_INTERRUPTED: Final = 130
"""Ctrl-C before the end, as in shells: 128 and the number of the signal."""


def refuse(message: str, code: int = EXIT_UNUSABLE) -> NoReturn:
    """Print the reason on stderr and exit with this code."""
    # Loading it takes a thirtieth of the start of a server.
    from sandbox.cli.tables import say

    say(f"sandbox: {message}", err=True)
    sys.exit(code)
