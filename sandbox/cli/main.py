"""The command `sandbox`, and the list of its commands."""

from typing import Final

import click

from sandbox import __version__
from sandbox.cli.groups import Commands

COMMANDS: Final = {
    "agenda": (
        "clock.agenda",
        "List what falls due in a world, the soonest first, and what it leads to.",
    ),
    "amounts": ("catalogues.amounts", "List the amounts that choose an outcome."),
    "batch": ("batches.batch", "List, open, close and answer batches."),
    "capture": ("payments.capture", "Capture an authorized PAYMENT: all of it, or AMOUNT."),
    "cards": ("catalogues.cards", "List the test cards with the answers of their issuers."),
    "clock": ("clock.clock", "Show, advance and set the clock of a world."),
    "compare": (
        "conformance.compare",
        "Replay the traffic in FILE, and show where the answers differ.",
    ),
    "confirm": (
        "payments.confirm",
        "Tell whether the cardholder accepts the surcharge of a PAYMENT.",
    ),
    "coverage": (
        "lookups.coverage",
        "Show which parts of the platform were used, and which were not.",
    ),
    "doctor": ("doctor.doctor", "Test the webhook receiver at URL, and grade it."),
    "export": (
        "export.export",
        "Write the platform, or requests to it, in the formats of other tools.",
    ),
    "find": (
        "lookups.find",
        "Find whatever has an id, or payments by the last four digits of a card.",
    ),
    "increment": ("payments.increment", "Add AMOUNT to an authorized PAYMENT."),
    "keys": ("lookups.keys", "Print the API keys of a world's cast."),
    "ledger": ("lookups.ledger", "Show the clauses with their code and tests."),
    "lens": ("lookups.lens", "Show what a key would be answered, and which keys could do it."),
    "listen": ("listen.listen", "Send webhooks to URL and trace them as they happen."),
    "next": ("payments.next_outcome", "Set the outcome of the next payment."),
    "open": ("lookups.open_console", "Open the console of a server in a browser."),
    "outcomes": (
        "catalogues.outcomes",
        "List the outcomes of payments and the transport faults.",
    ),
    "pay": ("payments.pay", "Take a payment of AMOUNT, and print its result."),
    "readings": ("world_settings.readings", "Show or choose how a world reads the spec."),
    "refund": ("payments.refund", "Refund a PAYMENT: all that remains, or AMOUNT."),
    "resend": ("webhooks.resend", "Send a webhook once more, with the same id and body."),
    "reverse": (
        "payments.reverse",
        "Reverse a PAYMENT before it is settled: all that remains, or AMOUNT.",
    ),
    "run": ("run.run", "Run COMMAND with a server around it, and return its exit status."),
    "scenario": ("scenarios.scenario", "Check, play, run, list and print scenarios."),
    "serve": ("serve.serve", "Serve the platform and the control API until interrupted."),
    "switch": (
        "world_settings.switch",
        "Show the switches of a world, or set the switch NAME to VALUE.",
    ),
    "tail": ("tail.tail", "Follow the requests to a world, with reasons and webhooks."),
    "tap": ("payments.tap", "Tap a card for a waiting payment."),
    "tip": (
        "payments.tip",
        "Set the tip of a captured PAYMENT to TIP, an amount or a percentage.",
    ),
    "token": (
        "tokens.token",
        "Issue, list and delete the tokens of teams that share a server.",
    ),
    "trigger": ("webhooks.trigger", "Send a sample of EVENT as a webhook."),
    "triggers": ("catalogues.triggers", ""),
    "verify": (
        "conformance.verify",
        "Ask the UAT at URL which readings of the spec hold there.",
    ),
    "world": ("worlds.world", "Create, list, reset, delete, save, load and capture worlds."),
}
"""Each command with its place in this package, and its line in the help, empty for a hidden one.

A command is loaded when it is used, so that `sandbox --help` is quick.
"""


@click.group(
    cls=Commands,
    lazy=COMMANDS,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
)
@click.version_option(__version__, message=f"uat-sandbox {__version__}")
def main() -> None:
    """A card-present payment sandbox on localhost: deterministic, isolated, without credentials."""
