"""One number for every two points: squares, triangles, graphs."""
