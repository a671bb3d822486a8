"""Digests of the bundled fixtures. Written by `make golden`."""

from typing import Final

DIGESTS: Final = frozenset(
    {
        "31dee7853c5f2dda9995c6040d4e49d506a361e11905433df8b3b9994b815b13",
        "48b5e4aca582cc9f8789c20d7eaf33fb0a4da359c8012eb7b210988cebdab1b1",
        "e4fc8f866b8dfe75e4e7e203f162e0fd52d8f53c77e99a3bb21bc771e7c70b76",
    }
)
