"""Webhooks as they are kept: endpoints, deliveries, and when a delivery is tried again.

Nothing here knows a network.
"""
