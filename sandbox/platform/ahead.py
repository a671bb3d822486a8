"""What the first payment needs, loaded while a server that has just started waits for requests.

Nothing here has to be called: whatever is missing is loaded when it is first used.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import Final

_BODIES: Final = "sandbox.platform.payments.bodies"


def parts() -> Iterator[None]:
    """Load one part with each step. None takes longer than some 20 ms."""
    operations = ("sandbox.platform.routes", "sandbox.platform.payments.expiry")
    for name in (*operations, "pydantic.main", _BODIES):
        import_module(name)
        yield
    import_module(_BODIES).StartPayment.model_rebuild()
