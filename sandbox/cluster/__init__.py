"""Several servers that share the worlds of one PostgreSQL database, which says who owns which.

Each server has one session with PostgreSQL that holds an advisory lock on a number of its own. The
row of a world has the number of the session that owns it, and each commit checks it. When a session
ends, for whatever reason, PostgreSQL frees its lock, and any server may claim its worlds.
"""
