"""Where blocks of work run, whatever they are blocks of: this process's threads, or another executor."""
