"""Webhooks on their way: which endpoint gets which message, signed, sent, and tried again."""
