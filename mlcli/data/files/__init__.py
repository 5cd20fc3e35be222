"""Input files: open files, hashes, compression, object stores, first bytes."""
