"""What a run reports: its quality, its figures, its page, and how it compares with others."""
