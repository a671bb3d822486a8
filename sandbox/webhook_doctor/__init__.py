"""Examining a receiver of webhooks: probes, how they are sent, how what came of them is graded."""
