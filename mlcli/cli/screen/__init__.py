"""What a terminal shows: progress, tables, errors, JSON."""
