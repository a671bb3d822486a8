"""Tests that are exported from a world, and what pytest says of them."""

GIVES_UP = "    return answer\n"
"""What software does that takes 503 for an end, as an exported test has it."""


def export(sandbox, kind="pytest", **more):
    """The answer, once what is exported was proved beside the world."""
    return sandbox.manage_on_loop("/export", **{"as": kind}, **more)


def exported(sandbox, kind="pytest", **more):
    """The file that is made."""
    return export(sandbox, kind, **more).expect(200)
