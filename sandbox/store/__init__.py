"""The state of worlds, and the fixtures that fill new ones.

`tables` describes the kinds of records, and `store` changes them in units of work. `fixture` reads
fixture files and creates records from them.
"""
