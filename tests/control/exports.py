"""Tests that are exported from a world, and what pytest says of them."""

import asyncio

EXPORT = "/worlds/default/export"
GIVES_UP = "    return answer\n"
"""What software does that takes 503 for an end, as an exported test has it."""


def export(sandbox, kind="pytest", **more):
    """The answer; the application runs in a loop, since what is exported is proved beside it."""
    return asyncio.run(sandbox.control_on_loop("POST", EXPORT, {"as": kind} | more))


def exported(sandbox, kind="pytest", **more):
    """The file that is made."""
    return export(sandbox, kind, **more).expect(200)
