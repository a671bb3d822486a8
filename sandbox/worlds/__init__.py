"""The world with its clock, ids, journal and state, and the registry of all worlds."""
