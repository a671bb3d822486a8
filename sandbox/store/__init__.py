"""Where records are kept, behind one port; and how a new world is filled.

`port` says what every store promises, `tables` what is kept and how it is found, `memory` keeps
it in dictionaries, `fixtures` reads what a world begins with and `seeding` makes records of it.
"""
