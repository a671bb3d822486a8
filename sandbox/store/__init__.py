"""The state of worlds, and the filling of new ones.

`tables` describes the kinds of records, and `store` holds them in units of work. `fixtures` reads
fixture files and `seeding` makes records from them.
"""
