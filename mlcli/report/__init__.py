"""What a run says of itself: the spectrum as a table and as a scree plot, and its quality."""
