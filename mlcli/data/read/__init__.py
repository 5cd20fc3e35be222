"""From a file to a table: rows and columns, in memory or in blocks."""
