"""State files: JSON to read and edit, SQLite for many documents. Their port is `store.files.port`."""
