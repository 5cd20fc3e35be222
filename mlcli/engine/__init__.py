"""Where blocks of work run, whatever their source: this process's threads, or another executor."""
