"""Writers of tables."""
