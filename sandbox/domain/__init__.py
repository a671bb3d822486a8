"""The rules of the platform, as tables and pure functions.

Nothing in this package reads a clock, draws a random number, touches a disk or knows of HTTP. It
imports only the standard library, msgspec, pydantic and itself.
"""
