"""The processors behind the platform, and how a terminal's configuration names one.

Source: assumed 7.1-processors, 7.2.
"""

import re
from typing import Final

_GATEWAYS: Final = {
    "tsys": "sierra",
    "payroc": "payroc",
    "elavon": "viaconex",
    "worldpay": "worldpay610",
    "fiserv": "rapidconnect",
    "passthrough": "passthrough",
}
_CONFIG_ID: Final = re.compile(r"cfg-([a-z0-9]+)-\w+")

PASSTHROUGH: Final = "passthrough"
"""EMV data is only forwarded, and the outcome told later. Source: spec 4.3-search-edit."""


def processor_of(config_id: str | None) -> str:
    """The processor that a processor_config_id such as cfg-tsys-001 names; else the id itself."""
    match = _CONFIG_ID.fullmatch(config_id or "")
    name = match[1] if match else config_id or ""
    return PASSTHROUGH if name == "pass" else name


def gateway_of(processor: str) -> str:
    """The interface through which the processor is reached."""
    return _GATEWAYS.get(processor, processor)
