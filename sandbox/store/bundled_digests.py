"""Digests of the bundled fixtures. Written by `make golden`."""

from typing import Final

DIGESTS: Final = frozenset(
    {
        "31dee7853c5f2dda9995c6040d4e49d506a361e11905433df8b3b9994b815b13",
        "6dc20ee99263fa889bfc4e15e08952dead65d77731c4b103d78b0c5f06c9d876",
        "e4fc8f866b8dfe75e4e7e203f162e0fd52d8f53c77e99a3bb21bc771e7c70b76",
    }
)
