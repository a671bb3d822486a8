"""Digests of the fixtures as they are shipped. Written by `make golden`."""

from typing import Final

DIGESTS: Final = frozenset(
    {
        "12db0c2fe1803f31dcd82905dd5d12d5b9489daaff67d685c7a6140914753537",
        "31dee7853c5f2dda9995c6040d4e49d506a361e11905433df8b3b9994b815b13",
        "e4fc8f866b8dfe75e4e7e203f162e0fd52d8f53c77e99a3bb21bc771e7c70b76",
    }
)
