"""Payments, the actions on them, their batches, and what happens to both by itself."""
