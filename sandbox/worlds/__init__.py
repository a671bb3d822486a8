"""A world and what it is made of: clock, ids, journal, state; and the registry of all of them."""
