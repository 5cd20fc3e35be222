"""An open file: source, hash, compression, object stores, first bytes."""
