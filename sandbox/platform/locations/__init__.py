"""Locations: routes, bodies and operations."""
