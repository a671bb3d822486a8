"""Running the examples of a scenario in a sandbox of their own, step by step."""
