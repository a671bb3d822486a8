"""Accounts: routes, bodies and operations."""
