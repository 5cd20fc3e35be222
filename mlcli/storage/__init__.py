"""Values as plain arrays and JSON, to keep them and to distinguish them: archives and keys."""
