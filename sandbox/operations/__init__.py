"""What each endpoint does once it may: read, ask the domain, write, emit.

An operation is a plain function from a `Call` to what is to be shown. It runs to its end without
waiting for anything, reaches state only through the call's unit of work, and refuses by raising
`Refusal`. Who may call it, and whether its target exists, was settled before.
"""
