"""Worlds with their clocks, ids, journals and state, and the registry of all worlds."""
