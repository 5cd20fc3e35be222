"""The table: rows, columns, ids, views."""
