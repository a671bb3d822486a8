"""OpenAPI 3.1 of the platform, written from the route table.

Only who asks for the document loads this room, or whoever writes that of the control surface.
"""
