"""How a command line is read: flags, shared options, completion."""
