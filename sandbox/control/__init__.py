"""The control API under `/_sandbox`: worlds, clocks, messages, the journal.

It has a table of rows like the platform's. It imitates nothing; it explains, and helps with
mistakes.
"""
