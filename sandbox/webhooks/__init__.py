"""Sending webhooks: subscriptions, outbox, signatures, attempts and retries."""
