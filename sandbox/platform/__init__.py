"""The platform's surface: the route table, and the one way that every request takes through it."""
