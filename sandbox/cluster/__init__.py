"""Several servers share the worlds in one PostgreSQL database, which decides who owns a world.

Each server has one session with PostgreSQL that holds an advisory lock on its own number. The row
of a world has the number of the session that owns it, and each commit checks it. When a session
ends, for whatever reason, PostgreSQL frees its lock, and any server can claim its worlds.
"""
