"""Tables of a run as values, and the forms in which they are written."""
