"""Values as plain arrays and JSON: archives that store them and keys that distinguish them."""
