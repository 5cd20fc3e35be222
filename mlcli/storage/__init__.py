"""Values as plain arrays and JSON, to keep them and to tell them apart: archives and keys."""
