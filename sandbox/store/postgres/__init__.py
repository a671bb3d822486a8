"""Worlds in a PostgreSQL database, which several servers share."""
