"""Credentials: routes, bodies and operations."""
