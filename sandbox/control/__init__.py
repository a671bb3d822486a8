"""The operator's surface under `/_sandbox`: worlds, clocks, messages, the journal.

The same kind of rows as the platform's, in a table of their own. Nothing here imitates anything;
it explains, and it helps with mistakes.
"""
