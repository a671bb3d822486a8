"""Terminals: routes, bodies and operations."""
