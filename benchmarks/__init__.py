"""Measures speed, as ratios to a bare application in the same run: `python -m benchmarks`."""
