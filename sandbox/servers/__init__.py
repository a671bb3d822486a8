"""Many servers that share the worlds of one PostgreSQL database."""
