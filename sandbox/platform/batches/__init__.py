"""Settlement batches: routes, bodies and operations."""
