"""What belongs to a process: signals, status shared with the supervisor, unfinished files."""
