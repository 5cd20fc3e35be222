"""How far a result would change with other rows: fits to rows that are drawn again, beside the run's own."""
