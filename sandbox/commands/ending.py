"""How a command ends that could not do what it was asked."""

import sys
from typing import Final, NoReturn

import click

EXIT_REFUSED: Final = 1
"""It was understood, and the answer is no."""

EXIT_UNUSABLE: Final = 2
"""Something that was given cannot be used: an option, a file, a port, a server."""


def refuse(message: str, code: int = EXIT_UNUSABLE) -> NoReturn:
    """Say why on stderr, and end with this code."""
    click.echo(f"sandbox: {message}", err=True)
    sys.exit(code)
