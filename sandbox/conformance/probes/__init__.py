"""The probes: rows of the files in this folder, their requests and their conditions."""
