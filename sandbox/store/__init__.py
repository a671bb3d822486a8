"""The store of records behind one port, and the filling of new worlds.

`port` defines the promises of every store, `tables` the records and their indexes. `memory` stores
them in dictionaries. `fixtures` reads fixture files and `seeding` makes records from them.
"""
