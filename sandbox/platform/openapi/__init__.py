"""OpenAPI 3.1 of the platform, written from the route table.

Loaded only for a document of the platform or of the control API.
"""
