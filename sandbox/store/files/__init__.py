"""The files that keep worlds: JSON for people, SQLite for many. Their port: `store.files`."""
