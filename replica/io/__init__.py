"""Reading and writing: atomic files, rows as table, JSON and CSV."""
