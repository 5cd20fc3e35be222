"""Resources of one process: signals, status shared with the supervisor, unfinished files, hashes of files."""
