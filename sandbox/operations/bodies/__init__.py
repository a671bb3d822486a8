"""The shapes of request bodies and queries.

Apart from the operations, because pydantic and these shapes are loaded when the first body or
query is read, and starting need not wait for them.
"""
