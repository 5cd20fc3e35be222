"""Tables: rows, columns, ids, labels, views."""
