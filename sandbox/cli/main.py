"""The command `sandbox`, and the list of its commands."""

from typing import Final

import click

from sandbox import __version__
from sandbox.cli.groups import Commands

COMMANDS: Final = {
    "agenda": ("clock", "List what falls due in a world, the soonest first, and what it leads to."),
    "amounts": ("catalogues", "List the amounts that choose an outcome."),
    "batch": ("batches", "List, open, close and answer batches."),
    "capture": ("payments", "Capture an authorized PAYMENT: all of it, or AMOUNT."),
    "cards": ("catalogues", "List the test cards with the answers of their issuers."),
    "clock": ("clock", "Show, advance and set the clock of a world."),
    "compare": ("conformance", "Replay the traffic in FILE, and show where the answers differ."),
    "confirm": ("payments", "Tell whether the cardholder accepts the surcharge of a PAYMENT."),
    "coverage": ("lookups", "Show which parts of the platform were used, and which were not."),
    "doctor": ("doctor", "Test the webhook receiver at URL, and grade it."),
    "export": ("export", "Write the platform, or requests to it, in the formats of other tools."),
    "find": ("lookups", "Find whatever has an id, or payments by the last four digits of a card."),
    "increment": ("payments", "Add AMOUNT to an authorized PAYMENT."),
    "keys": ("lookups", "Print the API keys of a world's cast."),
    "ledger": ("lookups", "Show the clauses with their code and tests."),
    "lens": ("lookups", "Show what a key would be answered, and which keys could do it."),
    "listen": ("listen", "Send webhooks to URL and trace them as they happen."),
    "next": ("payments", "Set the outcome of the next payment."),
    "open": ("lookups", "Open the console of a server in a browser."),
    "outcomes": ("catalogues", "List the outcomes of payments and the transport faults."),
    "pay": ("payments", "Take a payment of AMOUNT, and print its result."),
    "readings": ("worlds", "Show or choose how a world reads the spec."),
    "refund": ("payments", "Refund a PAYMENT: all that remains, or AMOUNT."),
    "resend": ("webhooks", "Send a webhook once more, with the same id and body."),
    "reverse": ("payments", "Reverse a PAYMENT before it is settled: all that remains, or AMOUNT."),
    "run": ("run", "Run COMMAND with a server around it, and return its exit status."),
    "scenario": ("scenarios", "Check, play, run, list and print scenarios."),
    "serve": ("serve", "Serve the platform and the control API until interrupted."),
    "switch": ("worlds", "Show the switches of a world, or set the switch NAME to VALUE."),
    "tail": ("tail", "Follow the requests to a world, with reasons and webhooks."),
    "tap": ("payments", "Tap a card for a waiting payment."),
    "tip": ("payments", "Set the tip of a captured PAYMENT to TIP, an amount or a percentage."),
    "token": ("tokens", "Issue, list and delete the tokens of teams that share a server."),
    "trigger": ("webhooks", "Send a sample of EVENT as a webhook."),
    "triggers": ("catalogues", ""),
    "verify": ("conformance", "Ask the UAT at URL which readings of the spec hold there."),
    "world": ("worlds", "Create, list, reset, delete, save, load and capture worlds."),
}
"""Each command with its module in this package, and its line in the help, empty for a hidden one.

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
