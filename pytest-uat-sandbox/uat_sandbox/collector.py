"""Loading the server's modules without the garbage collector."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collector() -> Iterator[None]:
    """Stop garbage collection while modules are loaded, and exempt their objects afterwards.

    There are more than a hundred thousand of them, which stay until the process ends. Traversing
    them repeatedly takes a quarter of the time of a suite.
    """
    if not gc.isenabled():
        # The process controls the collector itself.
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
