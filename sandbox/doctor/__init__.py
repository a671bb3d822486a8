"""Examining a webhook receiver: probes, sending, grading, report."""
