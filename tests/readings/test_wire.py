"""Readings of requests and answers: every value of each."""

TRIED: dict[str, tuple[str, ...]] = {}
"""The values that the tests below try, the default first."""
