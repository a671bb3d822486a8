"""The services that a world gives its outbox."""

from datetime import datetime
from typing import Protocol

from sandbox.scenarios.spoiling import WebhookRules
from sandbox.store.store import Store


class OutboxServices(Protocol):
    """The services that a world gives its outbox."""

    @property
    def store(self) -> Store:
        """The store with messages and timers."""

    @property
    def webhook_rules(self) -> WebhookRules | None:
        """The rules for deliveries, if there are any."""

    @property
    def time_scale(self) -> float:
        """How much of the waits between attempts is waited."""

    def now(self) -> datetime:
        """The world's present."""

    def fraction(self, name: str) -> float:
        """A number from 0 to 1 that follows from the world's seed and the name."""

    def draw_message_id(self) -> str:
        """The id of a message to be."""
