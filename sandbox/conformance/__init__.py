"""`sandbox compare`: recorded traffic, replayed against a world, and how the answers differ."""
