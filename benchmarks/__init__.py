"""Measure what users feel, in ratios of one run: `python -m benchmarks`."""
