"""Transactions: routes, bodies and operations."""
