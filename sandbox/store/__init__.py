"""The state of worlds, and the filling of new ones.

`tables` describes the kinds of records, and `store` holds them in units of work. `fixture` reads
fixture files, and makes records from them.
"""
