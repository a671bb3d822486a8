"""Loading the server's modules without the garbage collector."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collector() -> Iterator[None]:
    """Collect nothing while modules are loaded, and pass over their objects from then on.

    They stay until the process ends, and there are more than a hundred thousand of them. Searching
    them again and again takes a quarter of the time of a suite.
    """
    if not gc.isenabled():
        # The process has rules of its own.
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
