"""Digests of the bundled fixtures. Written by `make golden`."""

from typing import Final

DIGESTS: Final = frozenset(
    {
        "31dee7853c5f2dda9995c6040d4e49d506a361e11905433df8b3b9994b815b13",
        "e21c88d36a4c3dc4c98905df3409cb0f858f6898e4a3378879d58f4db2bd913d",
        "e4fc8f866b8dfe75e4e7e203f162e0fd52d8f53c77e99a3bb21bc771e7c70b76",
    }
)
