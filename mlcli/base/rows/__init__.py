"""Rows that memory need not hold, and work in blocks of them."""
