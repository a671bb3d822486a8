"""Digests of the bundled fixtures. Written by `make golden`."""

from typing import Final

DIGESTS: Final = frozenset(
    {
        "31dee7853c5f2dda9995c6040d4e49d506a361e11905433df8b3b9994b815b13",
        "7b7efa4e5244bff6c1c88e5aea14ecd890c945fb5582ae99355b8d23bcf9981a",
        "e4fc8f866b8dfe75e4e7e203f162e0fd52d8f53c77e99a3bb21bc771e7c70b76",
    }
)
