"""Reading of tables: from files, arrays and frames, in memory or in blocks."""
