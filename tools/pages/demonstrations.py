"""The scenarios of the library, as a list of things to show."""

from sandbox.library import scenarios
from tools.pages.markdown import code, page, table


def demonstrations() -> str:
    """Tell what each scenario shows, and the command that plays it."""
    return page(
        "Demonstrations",
        "Each line is a story to play before an audience: a step at a keypress, with the answer,\n"
        "the webhooks and the clock beside it. It plays in a world of its own, on your running\n"
        "server. [The guide](../guides/console.md#demonstrations) has transcripts.",
        table(
            ("to show", "run", "steps"),
            [
                (found.about, code(f"sandbox scenario play {name}"), str(len(found.example)))
                for name, found in scenarios().items()
            ],
        ),
    )
