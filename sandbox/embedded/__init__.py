"""A sandbox that is served by a thread of a process that does something else, such as tests."""
