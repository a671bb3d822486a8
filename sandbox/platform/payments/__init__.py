"""Payments, the actions on them, and their timers."""
