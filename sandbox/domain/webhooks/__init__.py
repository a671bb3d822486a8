"""Webhook records: endpoints, deliveries, and the retry schedule.

This room knows no network.
"""
