"""API keys: routes, bodies and operations."""
