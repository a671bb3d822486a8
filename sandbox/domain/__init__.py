"""The rules of the platform, as tables and pure functions.

Nothing in this room reads a clock, draws a random number, touches a disk or knows of HTTP:
it imports the standard library, pydantic, and itself.
"""
