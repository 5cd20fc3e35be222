"""What a run says of itself: its quality, its figures, its page, and how it compares with others."""
