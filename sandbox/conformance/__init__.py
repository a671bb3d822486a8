"""Comparing the sandbox with a real platform: `sandbox compare` and `sandbox verify`."""
