"""Agreement with the tables that R and scikit-learn made, kept in tests/tables."""
