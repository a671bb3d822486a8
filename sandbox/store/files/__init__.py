"""State files: JSON to read and edit, SQLite for many documents. `port` is their port."""
