"""One number for every two points: square matrices, triangles, graphs."""
