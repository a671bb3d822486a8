"""Functions that accounts, terminals, locations and credentials share."""
